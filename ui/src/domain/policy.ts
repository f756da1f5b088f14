import { ruleText } from './operation'

// What agents may do at a provider: what its kind ships with, what a person
// added, and what follows from both. The gateway decides; this shows what it
// would say, and what a change of the rules changes.

export const effects = ['permit', 'warn', 'ask', 'refuse'] as const
export type Effect = (typeof effects)[number]

/** What a rule does to an operation that is permitted otherwise. */
export const stops = ['block', 'ask', 'warn'] as const
type Stop = (typeof stops)[number]

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Names operations: one by its name, or all with a method and a path. */
export type Rule = { id: number; operation: string; method: string; path: string }
export type StopRule = Rule & { stop: Stop }

export type Operation = { name: string; read: boolean; permitted: boolean; routes: string[] }
export type Never = { what: string; why: string }

export type Shipped = {
  kind: string
  operations: Operation[]
  never: Never[]
  branchPrefixes: string[]
  protectedRefs: string[]
}

export type Policy = {
  writes: Rule[]
  stops: StopRule[]
  paths: string[]
  branchPrefixes: string[]
  protectedRefs: string[]
}

const severity: Record<Stop, number> = { warn: 1, ask: 2, block: 3 }

/** What happens to a named operation; of several rules the most severe counts. */
export function effectOf(operation: Operation, policy: Pick<Policy, 'writes' | 'stops'>): Effect {
  const names = (rule: Rule) => rule.operation === operation.name
  if (!operation.permitted && !policy.writes.some(names)) return 'refuse'
  const [worst] = policy.stops
    .filter(names)
    .map((rule) => rule.stop)
    .sort((a, b) => severity[b] - severity[a])
  if (worst === undefined) return 'permit'
  return worst === 'block' ? 'refuse' : worst
}

/** The rules after one operation was given an effect; all other rules stay. */
export function withEffect(policy: Policy, operation: Operation, effect: Effect): Policy {
  const others = <T extends Rule>(list: T[]) => list.filter((r) => r.operation !== operation.name)
  const blank = { operation: operation.name, method: '', path: '' }
  const writes = others(policy.writes)
  const stops = others(policy.stops)
  const id = nextId(policy)
  if (!operation.permitted && effect !== 'refuse') writes.push({ ...blank, id })
  if (effect === 'ask' || effect === 'warn') stops.push({ ...blank, id: id + 1, stop: effect })
  if (operation.permitted && effect === 'refuse')
    stops.push({ ...blank, id: id + 1, stop: 'block' })
  return { ...policy, writes, stops }
}

export function nextId(policy: Pick<Policy, 'writes' | 'stops'>): number {
  return Math.max(0, ...policy.writes.map((r) => r.id), ...policy.stops.map((r) => r.id)) + 1
}

/** Rules that name no operation of the kind: they are listed on their own. */
export function isOther(rule: Rule, shipped: Shipped): boolean {
  return !shipped.operations.some((one) => one.name === rule.operation)
}

export type ImpactKind =
  | 'may'
  | 'marked'
  | 'asked'
  | 'never'
  | 'onlyPaths'
  | 'anyPath'
  | 'branches'
  | 'protected'
  | 'unprotected'

/** One consequence of a change, about operations by name or about texts. */
export type Impact = { kind: ImpactKind; operations: string[]; texts: string[] }

const order: readonly ImpactKind[] = [
  'may',
  'marked',
  'asked',
  'anyPath',
  'unprotected',
  'branches',
  'never',
  'onlyPaths',
  'protected',
]

/** Whether a change lets agents do more than before. */
export function opens(kind: ImpactKind): boolean {
  return kind === 'may' || kind === 'marked' || kind === 'anyPath' || kind === 'unprotected'
}

const effectImpact: Record<Effect, ImpactKind> = {
  permit: 'may',
  warn: 'marked',
  ask: 'asked',
  refuse: 'never',
}
const stopImpact: Record<Stop, ImpactKind> = { warn: 'marked', ask: 'asked', block: 'never' }

/** What agents may do after a change that they may not do before, and the other way round. */
export function impactOf(before: Policy, after: Policy, shipped: Shipped): Impact[] {
  const found = new Map<ImpactKind, Impact>()
  const add = (kind: ImpactKind, operations: string[], texts: string[] = []) => {
    const one = found.get(kind) ?? { kind, operations: [], texts: [] }
    one.operations.push(...operations)
    one.texts.push(...texts.filter((text) => !one.texts.includes(text)))
    found.set(kind, one)
  }
  for (const operation of shipped.operations) {
    const now = effectOf(operation, after)
    if (effectOf(operation, before) !== now) add(effectImpact[now], [operation.name])
  }
  otherRules(before, after, shipped, add)
  lists(before, after, shipped, add)
  return order.flatMap((kind) => found.get(kind) ?? [])
}

type Add = (kind: ImpactKind, operations: string[], texts?: string[]) => void

const missing = (from: readonly string[], list: readonly string[]) =>
  from.filter((one) => !list.includes(one))

/** A rule that has just been added names nothing yet. */
const isBlank = (rule: Rule) => rule.operation === '' && rule.path === ''

function otherRules(before: Policy, after: Policy, shipped: Shipped, add: Add): void {
  const writes = (policy: Policy) =>
    policy.writes.filter((rule) => isOther(rule, shipped) && !isBlank(rule)).map(ruleText)
  const opened = missing(writes(after), writes(before))
  if (opened.length > 0) add('may', [], opened)
  const closed = missing(writes(before), writes(after))
  if (closed.length > 0) add('never', [], closed)
  const stopTexts = (policy: Policy, stop: Stop) =>
    policy.stops
      .filter((rule) => rule.stop === stop && isOther(rule, shipped) && !isBlank(rule))
      .map(ruleText)
  const stopped = new Set(stops.flatMap((stop) => stopTexts(after, stop)))
  for (const stop of stops) {
    const fresh = missing(stopTexts(after, stop), stopTexts(before, stop))
    if (fresh.length > 0) add(stopImpact[stop], [], fresh)
    const gone = stopTexts(before, stop).filter((text) => !stopped.has(text))
    if (gone.length > 0) add('may', [], gone)
  }
}

function lists(before: Policy, after: Policy, shipped: Shipped, add: Add): void {
  const same = (a: string[], b: string[]) => a.join('\n') === b.join('\n')
  if (!same(before.paths, after.paths)) {
    if (after.paths.length === 0) add('anyPath', [])
    else add('onlyPaths', [], after.paths)
  }
  if (!same(before.branchPrefixes, after.branchPrefixes)) {
    const now = after.branchPrefixes.length === 0 ? shipped.branchPrefixes : after.branchPrefixes
    add('branches', [], now)
  }
  const fresh = missing(after.protectedRefs, before.protectedRefs)
  if (fresh.length > 0) add('protected', [], fresh)
  const gone = missing(before.protectedRefs, after.protectedRefs)
  if (gone.length > 0) add('unprotected', [], gone)
}

export type PolicyField = 'writes' | 'stops' | 'paths' | 'branchPrefixes' | 'protectedRefs'

/**
 * Which field a refusal of the gateway is about: it quotes the entry it could
 * not read. Null where it says something about the whole.
 */
export function fieldOf(message: string, policy: Policy): PolicyField | null {
  const quoted = /\b(path|method|operation|branch prefix|protected ref) ("(?:[^"\\]|\\.)*")/.exec(
    message,
  )
  if (quoted === null) return /\brule names\b/.test(message) ? 'writes' : null
  const [, what = '', text = ''] = quoted
  if (what === 'branch prefix') return 'branchPrefixes'
  if (what === 'protected ref') return 'protectedRefs'
  const entry = unquote(text)
  const about = (rule: Rule) =>
    (what === 'path' ? rule.path : what === 'method' ? rule.method : rule.operation).startsWith(
      entry,
    )
  const open = (rule: Rule) => what !== 'path' || rule.operation === ''
  if (policy.writes.some((rule) => open(rule) && about(rule))) return 'writes'
  if (policy.stops.some((rule) => open(rule) && about(rule))) return 'stops'
  return 'paths'
}

/** The gateway quotes as Go does, which for what people type is as JSON does. */
function unquote(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    return text.slice(1, -1)
  }
}

export function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}

/** What the gateway never permits, by the reason it gives. */
const nevers = {
  'merging is for a person': 'merge',
  'approving is for a person': 'approve',
  'rules and access of a repository are for a person': 'administer',
  'forcing and deleting through a push are refused': 'force',
  'the request names its repository in a way that cannot be held to the session': 'unnamed',
  'fetch only reads': 'fetch',
  'reporting that something was checked or deployed is for CI': 'check',
  'releases and tags are for a person': 'release',
  'the body names another method than the one that was judged': 'replaced',
} as const

export function neverWord(why: string): (typeof nevers)[keyof typeof nevers] | null {
  return Object.hasOwn(nevers, why) ? nevers[why as keyof typeof nevers] : null
}
