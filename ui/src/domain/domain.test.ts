import { describe, expect, it } from 'vitest'
import { makeReview, makeTask } from '../../test/make'
import { allowed, dropOn, editable } from './actions'
import { approveState } from './approve'
import { byColumn, columnOf, matches } from './column'
import { step } from './keyboard'
import { columns, type Status, statuses } from './model'

describe('a status has one column', () => {
  const want: Record<Status, string> = {
    draft: 'inbox',
    queued: 'working',
    preparing: 'working',
    running: 'working',
    waiting: 'needs_you',
    reviewing: 'needs_you',
    failed: 'needs_you',
    stopped: 'needs_you',
    merging: 'done',
    done: 'done',
    cancelled: 'done',
    skipped: 'done',
    reused: 'done',
  }
  it.each(statuses)('%s', (status) => expect(columnOf(status)).toBe(want[status]))
})

describe('dragging performs an action or is refused with its reason', () => {
  const result = { base: 'a', head: 'b' }
  const cases = [
    ['starts a draft dropped on working', makeTask({ status: 'draft' }), 'working', 'run'],
    ['runs a failed task again', makeTask({ status: 'failed' }), 'working', 'run'],
    ['stops a running task', makeTask({ status: 'running' }), 'needs_you', 'stop'],
    ['opens the review', makeTask({ status: 'reviewing' }, result), 'done', 'review'],
    [
      'has nothing to land without a change',
      makeTask({ status: 'failed' }),
      'done',
      '!result_first',
    ],
    [
      'does not land a running task',
      makeTask({ status: 'running' }, result),
      'done',
      '!stop_first',
    ],
    ['does not move back to the inbox', makeTask({ status: 'running' }), 'inbox', '!no_way_back'],
    ['does not skip the work', makeTask({ status: 'draft' }), 'needs_you', '!not_started'],
    ['does not reopen what is done', makeTask({ status: 'done' }), 'working', '!finished'],
    ['knows its own column', makeTask({ status: 'draft' }), 'inbox', '!same_column'],
    ['waits for a merge', makeTask({ status: 'merging' }), 'working', '!merging'],
  ] as const
  it.each(cases)('%s', (_name, task, to, want) => {
    const drop = dropOn(task, to)
    expect(drop.ok ? drop.action : `!${drop.why}`).toBe(want)
  })

  it('never offers to merge by a drop', () => {
    for (const status of statuses) {
      for (const to of columns) {
        const drop = dropOn(makeTask({ status }, result), to)
        if (drop.ok) expect(['run', 'stop', 'review']).toContain(drop.action)
      }
    }
  })
})

it('a run that waits for an answer can be stopped, and not started again', () => {
  const task = makeTask({ status: 'waiting' })
  expect(allowed(task, 'stop')).toEqual({ ok: true })
  expect(allowed(task, 'run')).toEqual({ ok: false, why: 'already_running' })
  expect(allowed(task, 'delete')).toEqual({ ok: false, why: 'stop_first' })
})

it('a task without a gate cannot run one', () => {
  const task = makeTask({ status: 'reviewing', ci: 'none' }, { base: 'a', head: 'b' })
  expect(allowed(task, 'ci')).toEqual({ ok: false, why: 'no_gate' })
})

describe('approve is locked with every reason spelled out', () => {
  const reasons = (review: ReturnType<typeof makeReview>, acks: string[] = []) => {
    const state = approveState(review, new Set(acks))
    return state.enabled ? [] : state.reasons.map((r) => `${r.kind}:${r.code}`)
  }
  it('is open when nothing is missing', () => expect(reasons(makeReview({}))).toEqual([]))
  it('names blockers and acknowledgements together', () => {
    const review = makeReview({
      canApprove: false,
      blockers: [{ code: 'ci_failed', message: 'the gate failed' }],
      acks: ['gate_changed'],
    })
    expect(reasons(review)).toEqual(['blocker:ci_failed', 'ack:gate_changed'])
  })
  it('opens when the acknowledgement is given', () => {
    expect(reasons(makeReview({ acks: ['no_ci'] }), ['no_ci'])).toEqual([])
  })
  it('locks on a conflict even when the host forgot to say so', () => {
    const review = makeReview({})
    review.preview.conflicts = [{ path: 'a', kinds: ['content'] }]
    expect(reasons(review)).toEqual(['blocker:conflict'])
  })
  it('locks without a reason from the host, and says that much', () => {
    expect(reasons(makeReview({ canApprove: false }))).toEqual(['blocker:not_ready'])
  })
  it('locks when there is no result to bind', () => {
    const review = makeReview({})
    review.preview.resultTree = ''
    expect(reasons(review)).toEqual(['blocker:no_result'])
  })
})

describe('keys walk the board', () => {
  const a = makeTask({ id: 'a', status: 'draft' })
  const b = makeTask({ id: 'b', status: 'draft' })
  const c = makeTask({ id: 'c', status: 'done' })
  const board = byColumn([a, b, c])
  const go = (from: typeof a | null, way: Parameters<typeof step>[2]) =>
    step(board, from?.id ?? null, way)
  it('starts at the first card', () => expect(go(null, 'next')).toBe('a'))
  it('goes on into the next column', () => expect(go(b, 'next')).toBe('c'))
  it('stops at the end', () => expect(go(c, 'next')).toBe('c'))
  it('skips empty columns sideways', () => expect(go(b, 'right')).toBe('c'))
  it('stays where there is no column', () => expect(go(a, 'left')).toBe('a'))
})

it('the filter joins fields and words', () => {
  const task = makeTask({ title: 'Fix the parser', status: 'failed', ci: 'none' })
  expect(matches(task, 'parser status:failed')).toBe(true)
  expect(matches(task, 'parser status:done')).toBe(false)
  expect(matches(task, 'ci:none fix')).toBe(true)
})

describe('the words of a task', () => {
  it.each([
    ['draft', { ok: true }],
    ['failed', { ok: true }],
    ['reviewing', { ok: false, why: 'words_fixed' }],
    ['running', { ok: false, why: 'already_running' }],
    ['done', { ok: false, why: 'finished' }],
    ['cancelled', { ok: false, why: 'finished' }],
  ] as const)('of a %s one', (status, want) => {
    expect(editable(makeTask({ status }))).toEqual(want)
  })
})

it('the gate is offered in review only, as the host has it', () => {
  const result = { base: 'a', head: 'b' }
  expect(allowed(makeTask({ status: 'reviewing' }, result), 'ci')).toEqual({ ok: true })
  expect(allowed(makeTask({ status: 'failed' }, result), 'ci')).toEqual({
    ok: false,
    why: 'not_in_review',
  })
})
