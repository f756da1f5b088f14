/** Which calls a row of the price table is for. */
export type PriceKey = { upstream: string; kind: string; model: string; upTo: number }

/** USD per million tokens as decimals, empty where the ordinary price counts. */
export const priceFields = [
  'input',
  'output',
  'cacheRead',
  'cacheWrite5m',
  'cacheWrite1h',
  'reasoning',
  'audioInput',
  'imageInput',
  'audioOutput',
  'imageOutput',
  'search',
] as const
export type PriceField = (typeof priceFields)[number]

/** Where a row was read, on which day (2006-01-02), and what else is to be known of it. */
type Origin = { source: string; read: string; note: string }

export type Price = PriceKey & Record<PriceField, string> & Origin

export const blankPrice: Price = {
  upstream: '',
  kind: '',
  model: '',
  upTo: 0,
  input: '',
  output: '',
  cacheRead: '',
  cacheWrite5m: '',
  cacheWrite1h: '',
  reasoning: '',
  audioInput: '',
  imageInput: '',
  audioOutput: '',
  imageOutput: '',
  search: '',
  source: '',
  read: '',
  note: '',
}

/** A figure that was changed is no longer the one that stood at the row's address. */
export function withFigure(row: Price, was: Price, field: PriceField, value: string): Price {
  const kept = row.source === was.source && row.read === was.read && was.source !== ''
  return { ...row, [field]: value, ...(kept ? { source: '', read: '', note: '' } : {}) }
}

export function keyText({ upstream, kind, model, upTo }: PriceKey): string {
  return [upstream, kind, model, upTo].join('\n')
}

/** What providers put behind a name to pin one version of a model. */
const snapshot = /^[-@](latest|[0-9]{3,8}|[0-9]{4}-[0-9]{2}-[0-9]{2})$/

function fits(row: PriceKey, provider: string, kind: string, model: string): boolean {
  if (row.upstream !== '' && row.upstream !== provider) return false
  if (row.kind !== '' && row.kind !== kind) return false
  if (row.model.endsWith('*')) return model.startsWith(row.model.slice(0, -1))
  if (!model.startsWith(row.model)) return false
  const rest = model.slice(row.model.length)
  return rest === '' || snapshot.test(rest)
}

/** Whether some row says what a model costs; the gateway decides by the same rule. */
export function isPriced(
  rows: readonly PriceKey[],
  provider: string,
  kind: string,
  model: string,
): boolean {
  return rows.some((row) => fits(row, provider, kind, model))
}

export type Unpriced = { provider: string; models: string[] }

/** Models of providers that no row prices, by provider. */
export function unpriced(
  rows: readonly PriceKey[],
  providers: readonly { name: string; kind: string; models: readonly string[] }[],
): Unpriced[] {
  return providers
    .map(({ name, kind, models }) => ({
      provider: name,
      models: models.filter((model) => !isPriced(rows, name, kind, model)),
    }))
    .filter(({ models }) => models.length > 0)
}
