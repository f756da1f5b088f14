import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { toApproved } from '@/api/wire'
import type { Review } from '@/domain/model'
import { makeReview, makeTask } from '../../../test/make'
import { answer, problem, show, showRouted } from '../../../test/render'
import { Bound } from './Bound'
import { Decision } from './Decision'
import { Stale } from './Stale'

const seen = { targetOid: '7'.repeat(40), resultTree: '8'.repeat(40) }
const approval = {
  id: 'a',
  statement: {
    head: 'b'.repeat(40),
    target: 'main',
    target_oid: seen.targetOid,
    result_tree: seen.resultTree,
    gate_hash: 'd'.repeat(64),
    ci_state: 'passed',
    log_head: '9'.repeat(64),
  },
  signature: '',
  public_key: '',
  audit_seq: 7,
  at: '2026-01-01T00:00:00Z',
}
const merged = { commit: 'abc', tree: '', target: 'main', target_oid: '', audit_seq: 8 }

/** A review with the approval part of a wire answer. */
function toReviewed(part: Parameters<typeof toApproved>[0]): Review {
  return makeReview({ approved: toApproved(part) })
}

const task = makeTask({ status: 'reviewing', ci: 'none' })
const decide = (review: Partial<Review>) =>
  show(<Decision task={task} review={makeReview(review)} />)
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Approve and merge' })

describe('approve and merge', () => {
  it('is locked with the reasons in words, tied to the button', async () => {
    await decide({
      canApprove: false,
      blockers: [{ code: 'ci_failed', message: 'the CI gate failed: exit code 1' }],
      acks: ['gate_changed'],
    })
    expect(button().disabled).toBe(true)
    const why = document.getElementById(button().getAttribute('aria-describedby') ?? '')
    expect(why?.textContent).toContain('The CI gate failed. exit code 1')
    expect(why?.textContent).not.toContain('the CI gate')
    expect(why?.textContent).toContain('Not acknowledged')
  })

  it.each([
    ['task_cancelled', 'the task was cancelled', 'The task was cancelled.'],
    ['ci_running', 'the CI gate is running', 'The CI gate is running.'],
    ['conflict', 'the work does not merge into main: a.go, b.go', 'target branch. a.go, b.go'],
    ['of_tomorrow', 'the moon is not full', 'the moon is not full'],
  ])('says why once: %s', async (code, message, want) => {
    await decide({ canApprove: false, blockers: [{ code, message }] })
    const items = screen.getAllByRole('listitem').map((item) => item.textContent?.trim())
    expect(items).toHaveLength(1)
    expect(items[0]?.endsWith(want)).toBe(true)
    if (message.startsWith('the task')) expect(items[0]).toBe(want)
  })

  it('opens with the acknowledgement and sends exactly what was shown, once', async () => {
    const { calls } = answer({ 'POST /api/tasks/t1/approve-and-merge': { approval, merged } })
    const review = makeReview({ acks: ['no_ci'] })
    await show(<Decision task={task} review={review} />)
    expect(button().disabled).toBe(true)
    await userEvent.click(screen.getByRole('checkbox'))
    await userEvent.click(button())
    const posts = calls.filter((call) => call.method === 'POST')
    expect(posts.map((call) => call.path)).toEqual(['/api/tasks/t1/approve-and-merge'])
    expect(posts[0]?.body).toEqual({
      head: review.preview.head,
      target_oid: review.preview.targetOid,
      result_tree: review.preview.resultTree,
      acks: ['no_ci'],
      unviewed: [],
    })
  })

  it('says what was refused, and keeps saying it when the result moves', async () => {
    answer({
      'POST /api/tasks/t1/approve-and-merge': problem(
        409,
        'review_changed',
        'the target moved',
        'look again',
      ),
    })
    const { rerender, wrap } = await decide({})
    await userEvent.click(button())
    expect(await screen.findByText('the target moved')).toBeTruthy()
    expect(screen.getByText('look again')).toBeTruthy()
    const next = makeReview({})
    rerender(
      wrap(
        <Decision
          task={task}
          review={{ ...next, preview: { ...next.preview, targetOid: '1'.repeat(40) } }}
        />,
      ),
    )
    expect(screen.getByText('the target moved')).toBeTruthy()
  })

  it('forgets acknowledgements of another result', async () => {
    const review = makeReview({ acks: ['no_ci'] })
    const { rerender, wrap } = await show(<Decision task={task} review={review} />)
    await userEvent.click(screen.getByRole('checkbox'))
    const preview = { ...review.preview, resultTree: '2'.repeat(40) }
    rerender(wrap(<Decision task={task} review={{ ...review, preview }} />))
    expect(screen.getByRole<HTMLInputElement>('checkbox').checked).toBe(false)
    expect(button().disabled).toBe(true)
  })

  it('does not approve twice', async () => {
    const { calls } = answer({ 'POST /api/tasks/t1/merge': merged })
    await decide(toReviewed({ approval }))
    await userEvent.click(screen.getByRole('button', { name: 'Merge the approved result' }))
    const posts = calls.filter((call) => call.method === 'POST')
    expect(posts.map((call) => call.path)).toEqual(['/api/tasks/t1/merge'])
  })
})

describe('an approval that went stale', () => {
  const stale = {
    approval_stale: true,
    approval_stale_reason: 'the target changed after it was approved',
  }

  it('counts as none: approve is offered again', async () => {
    const { calls } = answer({ 'POST /api/tasks/t1/approve-and-merge': { approval, merged } })
    await decide(toReviewed(stale))
    expect(screen.queryByRole('button', { name: 'Merge the approved result' })).toBeNull()
    await userEvent.click(button())
    expect(calls.some((call) => call.path.endsWith('/approve-and-merge'))).toBe(true)
  })

  it.each([
    ['the target changed after it was approved', 'Changed since: Target main.'],
    ['the work changed after it was approved', 'Changed since: Head of the work.'],
    ['the gate image changed after it was approved', 'Changed since: Gate.'],
    ['the approval was signed with another key', 'the approval was signed with another key'],
    ['the constructor changed after it was approved', 'the constructor changed'],
  ])('says why: %s', async (reason, want) => {
    await show(<Stale review={toReviewed({ ...stale, approval_stale_reason: reason })} />)
    expect(screen.getByRole('note').textContent).toContain(want)
  })

  it('lists what would be bound now', async () => {
    await show(<Bound review={toReviewed(stale)} />)
    const region = screen.getByRole('region', { name: 'Your approval binds exactly this' })
    expect(region.textContent).toContain('a'.repeat(10))
    expect(region.textContent).not.toContain('7'.repeat(10))
  })

  it('while one that holds lists what was signed', async () => {
    await showRouted(<Bound review={toReviewed({ approval })} />)
    const region = screen.getByRole('region', { name: 'Your approval is bound to exactly this' })
    expect(region.textContent).toContain('7'.repeat(10))
    expect(region.textContent).toContain('8'.repeat(10))
  })
})
