/** Numbers that look random and are the same in every run. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export function pick<T>(next: (below: number) => number, from: readonly T[]): T {
  const found = from[next(from.length)]
  if (found === undefined) throw new Error('nothing to pick from')
  return found
}
