import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Budget, BudgetScope } from '@/domain/budget'
import { type Limit, limitOf, wireLimit } from '@/domain/limit'
import { oneOf } from '@/domain/model'
import { blankPrice, type Price, type PriceKey } from '@/domain/price'
import { api, unwrap } from './client'
import type { components } from './schema'

type Wire = components['schemas']

const budgetsKey = ['budgets'] as const
const pricesKey = ['prices'] as const

const scopes = ['day', 'provider', 'run', 'task'] as const

function toBudget(wire: Wire['BudgetState']): Budget {
  return {
    scope: oneOf<BudgetScope>(scopes, wire.scope, 'day'),
    id: wire.id ?? '',
    day: wire.day ?? '',
    limit: limitOf(wire.limit),
    spent: { tokens: wire.spent.tokens ?? 0, cost: wire.spent.cost_nano ?? 0 },
    reserved: { tokens: wire.reserved.tokens ?? 0, cost: wire.reserved.cost_nano ?? 0 },
  }
}

export function useBudgets() {
  return useQuery({
    queryKey: budgetsKey,
    queryFn: async () => ((await unwrap(api.GET('/api/budgets'))) ?? []).map(toBudget),
    // What is drawn changes with every call of a model.
    refetchInterval: 5000,
  })
}

export function useSetBudget() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ scope, id, limit }: Pick<Budget, 'scope' | 'id'> & { limit: Limit }) =>
      (
        (await unwrap(
          api.PUT('/api/budgets', {
            body: { scope, ...(id === '' ? {} : { id }), budget: wireLimit(limit) },
          }),
        )) ?? []
      ).map(toBudget),
    onSuccess: (list) => queries.setQueryData(budgetsKey, list),
  })
}

function toPrice(wire: Wire['Price']): Price {
  return {
    ...blankPrice,
    upstream: wire.upstream ?? '',
    kind: wire.kind ?? '',
    model: wire.model,
    upTo: wire.up_to ?? 0,
    input: wire.input,
    output: wire.output,
    cacheRead: wire.cache_read ?? '',
    cacheWrite5m: wire.cache_write_5m ?? '',
    cacheWrite1h: wire.cache_write_1h ?? '',
    reasoning: wire.reasoning ?? '',
    audioInput: wire.audio_input ?? '',
    imageInput: wire.image_input ?? '',
    audioOutput: wire.audio_output ?? '',
    imageOutput: wire.image_output ?? '',
    search: wire.search ?? '',
    source: wire.source ?? '',
    read: wire.read ?? '',
    note: wire.note ?? '',
  }
}

const wireKey = ({ upstream, kind, model, upTo }: PriceKey): Wire['PriceKey'] => ({
  upstream,
  kind,
  model,
  up_to: upTo,
})

const wirePrice = (price: Price): Wire['Price'] => ({
  ...wireKey(price),
  input: price.input,
  output: price.output,
  cache_read: price.cacheRead,
  cache_write_5m: price.cacheWrite5m,
  cache_write_1h: price.cacheWrite1h,
  reasoning: price.reasoning,
  audio_input: price.audioInput,
  image_input: price.imageInput,
  audio_output: price.audioOutput,
  image_output: price.imageOutput,
  search: price.search,
  source: price.source,
  read: price.read,
  note: price.note,
})

const toPrices = (wire: Wire['Prices']): Price[] => (wire.prices ?? []).map(toPrice)

export function usePrices() {
  return useQuery({
    queryKey: pricesKey,
    queryFn: async () => toPrices(await unwrap(api.GET('/api/prices'))),
  })
}

/** Rows to remove, then rows to set; all others stay. */
export function usePatchPrices() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ set = [], remove = [] }: { set?: Price[]; remove?: PriceKey[] }) =>
      toPrices(
        await unwrap(
          api.PATCH('/api/prices', {
            body: { set: set.map(wirePrice), remove: remove.map(wireKey) },
          }),
        ),
      ),
    onSuccess: (prices) => queries.setQueryData(pricesKey, prices),
  })
}
