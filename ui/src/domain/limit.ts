/** How much may be spent: null is no limit of that kind, 0 is nothing at all. */
export type Limit = { tokens: number | null; cost: number | null }

export const noLimit: Limit = { tokens: null, cost: null }

/**
 * The wire says 0 for no limit and a negative number for nothing at all, and
 * what is nothing in one kind is nothing in both.
 */
export function wireLimit({ tokens, cost }: Limit): { tokens: number; cost_nano: number } {
  if (tokens === 0 || cost === 0) return { tokens: -1, cost_nano: -1 }
  return { tokens: tokens ?? 0, cost_nano: cost ?? 0 }
}

export function limitOf(
  wire: { tokens?: number | undefined; cost_nano?: number | undefined } | undefined | null,
): Limit {
  const read = (value: number | undefined) =>
    value === undefined || value === 0 ? null : Math.max(0, value)
  return { tokens: read(wire?.tokens), cost: read(wire?.cost_nano) }
}

/** For a task or a run, where 0 is no limit and nothing is negative. */
export function wireTaskLimit({ tokens, cost }: Limit): { tokens: number; cost_nano: number } {
  return { tokens: tokens ?? 0, cost_nano: cost ?? 0 }
}
