// Calls as the index of the log tells them: an intent joined with its outcome,
// or a refusal. Everything here was measured by the gateway.

export type Totals = {
  calls: number
  open: number
  failed: number
  refused: number
  unmetered: number
  tools: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  searches: number
  /** 1e-9 USD. */
  cost: number
  durationUs: number
  bytesIn: number
  bytesOut: number
}

export type Span = Totals & {
  first: number
  last: number
  began: Date
  ended: Date
  sessions: number
}

/** What a task caused; of no task where its id is empty. */
export type Context = Span & { task: string; runs: number; stages: number }

export type Sandbox = {
  session: string
  parent: string
  agent: string
  template: string
  first: number
  last: number
  began: Date
  ended: Date
}

export type StageSpan = Span & {
  task: string
  run: string
  stage: string
  agent: string
  template: string
  sandboxes: Sandbox[]
}

type CallState = 'open' | 'ok' | 'failed' | 'refused'

export type Call = {
  seq: number
  outcome: number
  state: CallState
  time: Date
  durationUs: number
  task: string
  run: string
  stage: string
  agent: string
  upstream: string
  class: string
  method: string
  target: string
  model: string
  gate: string
  reason: string
  status: number
  result: string
  /** Requests it stands for: more than 1 for refusals that were counted together. */
  count: number
  input: number
  output: number
  cost: number
  scripted: boolean
  replayed: boolean
  partial: boolean
}

export type CallKind = 'model' | 'count' | 'read' | 'write' | 'other' | 'failed' | 'refused'

const classes: ReadonlyMap<string, CallKind> = new Map([
  ['inference', 'model'],
  ['count', 'count'],
  ['read', 'read'],
  ['write', 'write'],
])

/** What a call is to somebody who looks for what went wrong: that first. */
export function callKind(call: Pick<Call, 'state' | 'class'>): CallKind {
  if (call.state === 'refused' || call.state === 'failed') return call.state
  return classes.get(call.class) ?? 'other'
}

/** What a call was about, in one line. */
export function callTitle(call: Call): string {
  if (call.class === 'inference' && call.model !== '') return call.model
  return `${call.method} ${path(call.target)}`.trim()
}

function path(target: string): string {
  const at = target.indexOf('://')
  const slash = target.indexOf('/', at < 0 ? 0 : at + 3)
  return slash < 0 ? target : target.slice(slash)
}

/** The id under which the host lists the message that a call made. */
export function messageOf(call: Pick<Call, 'seq' | 'class' | 'state'>): string {
  if (call.state === 'refused') return `${call.seq}-refusal`
  return `${call.seq}-${call.class === 'inference' ? 'answer' : 'request'}`
}

/** The names a person knows a stage by, without the ids. */
export type StageRef = { task: string; run: string; stage: string }

export function stageKey({ task, run, stage }: StageRef): string {
  return [task, run, stage].join('\n')
}

export function sameStage(a: StageRef, b: StageRef): boolean {
  return stageKey(a) === stageKey(b)
}
