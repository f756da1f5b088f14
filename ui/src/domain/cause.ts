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
