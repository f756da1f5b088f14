import { type Limit, noLimit } from './limit'
import { parseCount, parseUSD, writeUSD } from './money'

/** Tokens and 1e-9 USD, spent or reserved. */
type Amount = { tokens: number; cost: number }

const nothing: Amount = { tokens: 0, cost: 0 }

export type BudgetScope = 'day' | 'provider' | 'run' | 'task'

export type Budget = {
  scope: BudgetScope
  /** Of a run, a task, a provider; empty for the day. */
  id: string
  day: string
  limit: Limit
  spent: Amount
  reserved: Amount
}

export type Level = 'open' | 'ok' | 'near' | 'over'

/** How far a limit is used up: two parts in percent of it, and what that means. */
export type Fill = { spent: number; reserved: number; level: Level }

const near = 80

export function fillOf(limit: number | null, spent: number, reserved: number): Fill {
  if (limit === null) return { spent: 0, reserved: 0, level: 'open' }
  if (limit === 0) return { spent: 100, reserved: 0, level: 'over' }
  const percent = (value: number) => Math.min(100, (value / limit) * 100)
  const all = spent + reserved
  const level = all >= limit ? 'over' : (all / limit) * 100 >= near ? 'near' : 'ok'
  return { spent: percent(spent), reserved: percent(all) - percent(spent), level }
}

/** What a form holds, as typed. */
export type LimitText = { tokens: string; usd: string }

export function textOf(limit: Limit): LimitText {
  return {
    tokens: limit.tokens === null ? '' : String(limit.tokens),
    usd: limit.cost === null ? '' : writeUSD(limit.cost),
  }
}

export type LimitRead = { limit: Limit; wrong: { tokens: boolean; usd: boolean } }

/**
 * Empty is no limit; whatever is no amount is wrong, never a guess. For a day 0
 * is nothing at all; a task that may spend nothing could not run, so there it
 * is wrong as well.
 */
export function readLimit(text: LimitText, zero: 'nothing' | 'wrong' = 'nothing'): LimitRead {
  const tokens = text.tokens.trim() === '' ? null : parseCount(text.tokens)
  const cost = text.usd.trim() === '' ? null : parseUSD(text.usd)
  const none = (value: number | null) => value === 0 && zero === 'wrong'
  return {
    limit: { tokens, cost },
    wrong: {
      tokens: none(tokens) || (tokens === null && text.tokens.trim() !== ''),
      usd: none(cost) || (cost === null && text.usd.trim() !== ''),
    },
  }
}

/** A budget in the gateway's list, or what is known without it. */
export function budgetOr(
  list: readonly Budget[],
  scope: Exclude<BudgetScope, 'day'>,
  id: string,
  otherwise: Partial<Pick<Budget, 'day' | 'limit' | 'spent'>>,
): Budget {
  const found = list.find((one) => one.scope === scope && one.id === id)
  return (
    found ?? { scope, id, day: '', limit: noLimit, spent: nothing, reserved: nothing, ...otherwise }
  )
}
