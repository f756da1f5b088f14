import { recordKinds } from './audit'

// The filter bar's language: `kind:refusal agent:solo since:1h some words`.
// The text is the filter; everything else only writes into it.

export const filterFields = [
  'kind',
  'task',
  'run',
  'stage',
  'session',
  'agent',
  'model',
  'upstream',
  'status',
  'part',
  'since',
  'until',
] as const
export type FilterField = (typeof filterFields)[number]

/** Empty strings restrict nothing; q are the words that are searched. */
export type AuditFilter = Record<FilterField, string> & { q: string }

export const noFilter: AuditFilter = {
  kind: '',
  task: '',
  run: '',
  stage: '',
  session: '',
  agent: '',
  model: '',
  upstream: '',
  status: '',
  part: '',
  since: '',
  until: '',
  q: '',
}

/** The host takes no more of them. */
export const longestWords = 200

/** What the host calls the words of `status:`. */
const states: ReadonlyMap<string, State> = new Map([
  ['error', 'bad'],
  ['bad', 'bad'],
  ['ok', 'ok'],
  ['open', 'open'],
  ['failed', 'failed'],
  ['refused', 'refused'],
])
type State = 'open' | 'ok' | 'failed' | 'refused' | 'bad'

export const statusWords = ['error', 'refused', 'failed', 'open', 'ok'] as const

/** Kinds of part that `part:` knows. */
export const partWords = ['text', 'thinking', 'tool-use', 'tool-result', 'error'] as const

type Word = { field: string; value: string }

const simple = /^[^\s"\\]+$/

/** Words as they are typed; quotes group, a backslash in them takes the next sign as it is. */
function words(text: string): Word[] {
  const out: Word[] = []
  const pattern = /(?:([a-z]+):)?(?:"((?:[^"\\]|\\[\s\S])*)"?|(\S+))/g
  for (const [, field = '', quoted, plain = ''] of text.matchAll(pattern)) {
    const value = quoted === undefined ? plain : quoted.replace(/\\([\s\S])/g, '$1')
    out.push({ field, value })
  }
  return out
}

function fieldOf(name: string): FilterField | undefined {
  if (name === 'state') return 'status'
  return filterFields.find((one) => one === name)
}

/** The last of several values of a field holds. An unknown field is a word like any other. */
export function parseFilter(text: string): AuditFilter {
  const out = { ...noFilter }
  const found: string[] = []
  for (const { field, value } of words(text)) {
    const known = fieldOf(field)
    if (known !== undefined) out[known] = value
    else found.push(field === '' ? value : `${field}:${value}`)
  }
  out.q = found.join(' ')
  return out
}

function quote(text: string): string {
  return simple.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`
}

export function formatFilter(filter: AuditFilter): string {
  const fields = filterFields
    .filter((name) => filter[name] !== '')
    .map((name) => `${name}:${quote(filter[name])}`)
  return [...fields, formatWords(filter.q)].filter(Boolean).join(' ')
}

/** Words stand as they are where they read the same again. */
function formatWords(q: string): string {
  if (q === '') return ''
  const again = parseFilter(q)
  const same = again.q === q && filterFields.every((name) => again[name] === '')
  return same ? q : `"${q.replace(/["\\]/g, '\\$&')}"`
}

export function isEmpty(filter: AuditFilter): boolean {
  return filter.q === '' && filterFields.every((name) => filter[name] === '')
}

const lengths: ReadonlyMap<string, number> = new Map([
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
])

/** 30m, 1h, 2d, 1w before now, or a date with or without a time; null is neither. */
export function moment(text: string, now: Date): Date | null {
  const [, n, unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  if (n !== undefined) {
    // Whole minutes: the same question is asked in the same words for a while.
    const minute = Math.floor(now.getTime() / 60_000) * 60_000
    return new Date(minute - Number(n) * (lengths.get(unit) ?? 0))
  }
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.test(text))
    return null
  const at = new Date(text.includes('T') ? text : `${text}T00:00`)
  return Number.isNaN(at.getTime()) ? null : at
}

/** Fields whose value cannot be meant; they are not asked for. */
export function wrongFields(filter: AuditFilter): FilterField[] {
  const { kind, status, since, until } = filter
  const now = new Date(0)
  return filterFields.filter((name) => {
    if (name === 'kind') return kind !== '' && !recordKinds.some((one) => one === kind)
    if (name === 'status')
      return status !== '' && !states.has(status) && !/^[1-9](\d\d|xx)$/.test(status)
    if (name === 'part') return filter.part !== '' && !/^[a-z-]{1,40}$/.test(filter.part)
    if (name === 'since') return since !== '' && moment(since, now) === null
    if (name === 'until') return until !== '' && moment(until, now) === null
    return filter[name].length > 128
  })
}

export type AuditQuery = {
  task?: string
  run?: string
  stage?: string
  session?: string
  agent?: string
  model?: string
  upstream?: string
  kind?: string
  state?: State
  status?: string
  from?: string
  to?: string
  q?: string
}

/** What the host is asked for. */
export function toQuery(filter: AuditFilter, now: Date): AuditQuery {
  const wrong = wrongFields(filter)
  const of = (name: FilterField) => (wrong.includes(name) ? '' : filter[name])
  const out: AuditQuery = {}
  for (const name of ['task', 'run', 'stage', 'session', 'agent', 'model', 'upstream'] as const) {
    if (of(name) !== '') out[name] = of(name)
  }
  if (of('kind') !== '') out.kind = of('kind')
  const status = of('status')
  const state = states.get(status)
  if (state !== undefined) out.state = state
  else if (status !== '') out.status = status
  const [from, to] = [moment(of('since'), now), moment(of('until'), now)]
  if (from !== null) out.from = from.toISOString()
  if (to !== null) out.to = to.toISOString()
  if (filter.q !== '') out.q = filter.q.slice(0, longestWords)
  return out
}

/** Rows of these kinds belong to no call, so no conversation shows them. */
export function outsideCalls(filter: AuditFilter): boolean {
  return !['', 'intent', 'outcome', 'refusal'].includes(filter.kind) && isKind(filter.kind)
}

function isKind(kind: string): boolean {
  return recordKinds.some((one) => one === kind)
}
