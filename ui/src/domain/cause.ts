import type { Task } from './model'

/** Sentences the interface knows for states whose cause follows from the state itself. */
export type CauseKey =
  | 'merged'
  | 'approved'
  | 'noCI'
  | 'ciPending'
  | 'ciPassed'
  | 'ciDrift'
  | 'ciStale'

/**
 * The sentence for a task's cause, or undefined where only the host knows it
 * (a failure, a refusal): then its own words are shown.
 */
export function causeKey(
  task: Pick<Task, 'status' | 'ci'> & { next?: string },
): CauseKey | undefined {
  if (task.status === 'done') return 'merged'
  if (task.status !== 'reviewing') return undefined
  if (task.next === 'merge') return 'approved'
  switch (task.ci) {
    case 'none':
      return 'noCI'
    case 'pending':
      return 'ciPending'
    case 'passed':
      return 'ciPassed'
    case 'passed_gate_changed':
      return 'ciDrift'
    case 'stale':
      return 'ciStale'
    case 'running':
    case 'failed':
    case 'error':
      return undefined
  }
}

/** What the host's own sentence says, where the interface can say it in every language. */
export type HostCause =
  | { kind: 'ask'; operations: string[]; upstream: string; more: number }
  | { kind: 'budget'; of: 'task' | 'run' | 'day' | 'session' | 'some' }
  | { kind: 'providerBudget'; provider: string }
  | { kind: 'noPrice'; model: string }
  | { kind: 'stopped' }
  | { kind: 'refused' | 'unanswered'; operation: string; upstream: string }

const ask = /^the agent wants to (.+) at (\S+); allow or refuse(?: \((\d+) more wait\))?$/
const budget = /^the budget of the (task|run|day|session) does not suffice for another call: /
const ofProvider = /^the budget of (\S+) for today does not suffice for another call: /
const noPrice = /^a budget in USD applies and the model (\S+) has no price: /

const refused =
  /^the agent gave up: .*\breason person-refused\).* a person refused (\S+) at (\S+); do not try it again$/
const unanswered =
  /^the agent gave up: .*\breason nobody-answered\).* (\S+) needs a person at (\S+), and nobody answered within /

/** What the host says it kept of the work, behind a cause. */
export type Kept = { kind: 'nothing' } | { kind: 'work'; head: string }

const keptAt = /; the work so far was kept at ([0-9a-f]+)$/
const keptNothing = /; nothing had been changed$/

/** A cause, and apart from it what was kept. */
export function splitKept(text: string): { what: string; kept: Kept | null } {
  const head = keptAt.exec(text)?.[1]
  if (head !== undefined) return { what: text.replace(keptAt, ''), kept: { kind: 'work', head } }
  if (keptNothing.test(text)) {
    return { what: text.replace(keptNothing, ''), kept: { kind: 'nothing' } }
  }
  return { what: text, kept: null }
}

/** Null where the sentence is not known: then it is shown as it is. */
export function hostCause(cause: string): HostCause | null {
  const text = splitKept(cause).what
  const held = ask.exec(text)
  if (held !== null) {
    const [, operations = '', upstream = '', more = '0'] = held
    return { kind: 'ask', operations: operations.split(', '), upstream, more: Number(more) }
  }
  const of = budget.exec(text)?.[1]
  if (of === 'task' || of === 'run' || of === 'day' || of === 'session') {
    return { kind: 'budget', of }
  }
  const provider = ofProvider.exec(text)?.[1]
  if (provider !== undefined) return { kind: 'providerBudget', provider }
  if (text.startsWith('a budget does not suffice for another call: ')) {
    return { kind: 'budget', of: 'some' }
  }
  const model = noPrice.exec(text)?.[1]
  if (model !== undefined) return { kind: 'noPrice', model }
  for (const [kind, form] of [
    ['refused', refused],
    ['unanswered', unanswered],
  ] as const) {
    const [, operation, upstream] = form.exec(text) ?? []
    if (operation !== undefined && upstream !== undefined) return { kind, operation, upstream }
  }
  return text === 'stopped by you' ? { kind: 'stopped' } : null
}

/** Where a person lifts what ended a run; null: it was no budget. */
export function remedyOf(cause: HostCause | null): 'task' | 'budgets' | 'prices' | null {
  switch (cause?.kind) {
    case 'budget':
      return cause.of === 'day' ? 'budgets' : 'task'
    case 'providerBudget':
      return 'budgets'
    case 'noPrice':
      return 'prices'
    case 'ask':
    case 'refused':
    case 'unanswered':
    case 'stopped':
    case undefined:
      return null
  }
}
