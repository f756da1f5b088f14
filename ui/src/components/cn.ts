import { type ClassValue, clsx } from 'clsx'

/** Joins classes. Two that set the same property do not belong together. */
export function cn(...classes: ClassValue[]): string {
  return clsx(classes)
}
