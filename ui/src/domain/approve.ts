import type { Blocker, Bound, Review } from './model'

/** Why approval may be locked, each with words of its own; all but the first are the host's. */
export const blockerCodes = [
  'offline',
  'task_done',
  'task_cancelled',
  'merging',
  'not_run',
  'run_active',
  'run_failed',
  'not_reviewing',
  'target_gone',
  'conflict',
  'nothing_to_merge',
  'no_result',
  'not_ready',
  'ci_pending',
  'ci_running',
  'ci_stale',
  'ci_error',
  'ci_failed',
] as const

/** One reason why "Approve and merge" is disabled. */
export type Reason =
  | { kind: 'blocker'; code: string; message: string }
  | { kind: 'ack'; code: string }

export type ApproveState =
  | { enabled: true; warnings: Warning[] }
  | { enabled: false; reasons: Reason[]; warnings: Warning[] }

export type Warning = 'base_moved' | 'behind' | 'checked_out' | 'truncated'

/**
 * Everything that stands between the person and the button. The host decides
 * again; this only spells out what it would answer. Deny is the start: without
 * the host's word, or with nothing to bind, the button is locked.
 */
export function approveState(review: Review, acked: ReadonlySet<string>): ApproveState {
  const reasons: Reason[] = blockersOf(review).map((b) => ({ kind: 'blocker', ...b }))
  for (const code of review.acks) {
    if (!acked.has(code)) reasons.push({ kind: 'ack', code })
  }
  const warnings = warningsOf(review)
  return reasons.length === 0 ? { enabled: true, warnings } : { enabled: false, reasons, warnings }
}

/** What an approval given now would bind. */
export function boundNow(review: Review): Bound {
  const { preview, ci } = review
  return {
    head: preview.head,
    target: preview.target,
    targetOid: preview.targetOid,
    resultTree: preview.resultTree,
    gateHash: ci.gateHash,
    ciState: ci.state,
    logHead: review.logHead,
  }
}

export type Moved = 'work' | 'target' | 'result' | 'gate' | 'acks' | 'hidden'

const moves: Record<string, Moved> = {
  work: 'work',
  head: 'work',
  target: 'target',
  'target branch': 'target',
  result: 'result',
  gate: 'gate',
  'gate run': 'gate',
  'gate result': 'gate',
  'gate image': 'gate',
  'list of acknowledgements': 'acks',
  'list of hidden files': 'hidden',
}

/** What moved after an approval, out of the host's sentence; null: it says something else. */
export function movedOf(reason: string): Moved | null {
  const what = /^the (.+) changed after it was approved$/.exec(reason)?.[1] ?? ''
  return Object.hasOwn(moves, what) ? (moves[what] ?? null) : null
}

function blockersOf(review: Review): Blocker[] {
  const found = [...review.blockers]
  const add = (code: string) => {
    if (!found.some((b) => b.code === code)) found.push({ code, message: '' })
  }
  if (review.preview.conflicts.length > 0) add('conflict')
  else if (review.preview.upToDate) add('nothing_to_merge')
  else if (review.preview.resultTree === '') add('no_result')
  if (!review.canApprove && found.length === 0) add('not_ready')
  return found
}

function warningsOf(review: Review): Warning[] {
  const out: Warning[] = []
  if (review.baseMoved) out.push('base_moved')
  else if (review.preview.behind > 0) out.push('behind')
  if (review.checkedOut) out.push('checked_out')
  if (review.truncated.length > 0) out.push('truncated')
  return out
}
