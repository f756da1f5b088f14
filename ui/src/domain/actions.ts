import { isLive } from './column'
import type { Column, Task } from './model'

export const actionIds = ['run', 'stop', 'ci', 'review', 'cancel', 'delete'] as const
export type ActionId = (typeof actionIds)[number]

/** Why an action is not there now. Each has its own sentence in every language. */
type Refusal =
  | 'already_running'
  | 'not_running'
  | 'finished'
  | 'nothing_to_review'
  | 'no_gate'
  | 'gate_running'
  | 'stop_first'
  | 'merging'
  | 'not_started'
  | 'same_column'
  | 'no_way_back'
  | 'result_first'
  | 'not_in_review'
  | 'words_fixed'

export type Verdict = { ok: true } | { ok: false; why: Refusal }

const yes: Verdict = { ok: true }
const no = (why: Refusal): Verdict => ({ ok: false, why })

function finished(task: Task): boolean {
  return task.status === 'done' || task.status === 'cancelled'
}

export function hasResult(task: Task): boolean {
  const attempt = task.attempt
  return attempt !== null && attempt.head !== '' && attempt.head !== attempt.base
}

export function allowed(task: Task, action: ActionId): Verdict {
  if (task.status === 'merging') return no('merging')
  switch (action) {
    case 'run':
      if (isLive(task.status)) return no('already_running')
      return finished(task) ? no('finished') : yes
    case 'stop':
      return isLive(task.status) ? yes : no('not_running')
    case 'ci':
      if (finished(task)) return no('finished')
      if (isLive(task.status)) return no('stop_first')
      if (!hasResult(task)) return no('nothing_to_review')
      if (task.status !== 'reviewing') return no('not_in_review')
      if (task.ci === 'none') return no('no_gate')
      return task.ci === 'running' ? no('gate_running') : yes
    case 'review':
      if (isLive(task.status)) return no('already_running')
      return hasResult(task) ? yes : no('nothing_to_review')
    case 'cancel':
      if (isLive(task.status)) return no('stop_first')
      return finished(task) ? no('finished') : yes
    case 'delete':
      return isLive(task.status) ? no('stop_first') : yes
  }
}

/** The words of a task are fixed once a result rests on them. */
export function editable(task: Task): Verdict {
  if (task.status === 'draft' || task.status === 'failed') return yes
  if (isLive(task.status)) return no('already_running')
  return finished(task) ? no('finished') : no('words_fixed')
}

export type Drop = { ok: true; action: ActionId } | { ok: false; why: Refusal }

/**
 * A card dropped on a column performs the action that leads there, or is
 * refused with a reason. It never only moves: the column follows the status.
 */
export function dropOn(task: Task, to: Column): Drop {
  if (task.column === to) return { ok: false, why: 'same_column' }
  const action = leadsTo(task, to)
  if (typeof action !== 'string') return action
  const verdict = allowed(task, action)
  return verdict.ok ? { ok: true, action } : verdict
}

function leadsTo(task: Task, to: Column): ActionId | { ok: false; why: Refusal } {
  if (finished(task)) return { ok: false, why: 'finished' }
  switch (to) {
    case 'inbox':
      return { ok: false, why: 'no_way_back' }
    case 'working':
      return 'run'
    case 'needs_you':
      return task.column === 'inbox' ? { ok: false, why: 'not_started' } : 'stop'
    case 'done':
      if (task.column === 'working') return { ok: false, why: 'stop_first' }
      return hasResult(task) ? 'review' : { ok: false, why: 'result_first' }
  }
}
