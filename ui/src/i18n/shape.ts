/** The keys of a language, with words of another. */
export type Shape<T> = { [K in keyof T]: T[K] extends string ? string : Shape<T[K]> }
