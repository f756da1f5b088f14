import type { RunId, TaskId } from './model'

/** A request the gateway holds until a person answers. Nothing of it was sent. */
export type Ask = {
  id: string
  /** Empty where a program and no task asks. */
  task: TaskId | null
  run: RunId | null
  agent: string
  upstream: string
  method: string
  /** The whole address, without credentials. */
  target: string
  operations: string[]
  refs: string[]
  /** The beginning of what the agent wrote, where it is text. */
  body: string
  bodyBytes: number
  rule: { operation: string; method: string; path: string }
  asked: Date
  expires: Date
}

/** What became of a request a person answered, or tried to. */
export type Outcome =
  | { kind: 'answered'; allow: boolean; seq: number }
  | { kind: 'over'; message: string }

/** Requests to show: the open ones, and those that were answered here just now. */
export function shownAsks(
  open: readonly Ask[],
  answered: readonly { ask: Ask; outcome: Outcome }[],
): { ask: Ask; outcome: Outcome | null }[] {
  const done = new Map(answered.map((one) => [one.ask.id, one]))
  return [
    ...answered,
    ...open.filter((ask) => !done.has(ask.id)).map((ask) => ({ ask, outcome: null })),
  ]
}
