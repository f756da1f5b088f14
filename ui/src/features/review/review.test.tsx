import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { Review } from '@/domain/model'
import { makeReview, makeTask } from '../../../test/make'
import { answer, problem, show } from '../../../test/render'
import { Decision } from './Decision'

const task = makeTask({ status: 'reviewing', ci: 'none' })
const decide = (review: Partial<Review>) =>
  show(<Decision task={task} review={makeReview(review)} />)
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Approve and merge' })

describe('approve and merge', () => {
  it('is locked with the reasons in words, tied to the button', async () => {
    await decide({
      canApprove: false,
      blockers: [{ code: 'ci_failed', message: 'exit code 1' }],
      acks: ['gate_changed'],
    })
    expect(button().disabled).toBe(true)
    const why = document.getElementById(button().getAttribute('aria-describedby') ?? '')
    expect(why?.textContent).toContain('The CI gate failed. exit code 1')
    expect(why?.textContent).toContain('Not acknowledged')
  })

  it('opens with the acknowledgement and sends exactly what was shown', async () => {
    const { calls } = answer({
      'POST /api/tasks/t1/approve': {
        id: 'a',
        statement: {},
        signature: '',
        public_key: '',
        audit_seq: 7,
        at: '',
      },
      'POST /api/tasks/t1/merge': {
        commit: 'abc',
        tree: '',
        target: 'main',
        target_oid: '',
        audit_seq: 8,
      },
    })
    const review = makeReview({ acks: ['no_ci'] })
    await show(<Decision task={task} review={review} />)
    expect(button().disabled).toBe(true)
    await userEvent.click(screen.getByRole('checkbox'))
    await userEvent.click(button())
    const posts = calls.filter((call) => call.method === 'POST')
    expect(posts.map((call) => call.path)).toEqual(['/api/tasks/t1/approve', '/api/tasks/t1/merge'])
    expect(posts[0]?.body).toEqual({
      head: review.preview.head,
      target_oid: review.preview.targetOid,
      result_tree: review.preview.resultTree,
      acks: ['no_ci'],
      unviewed: [],
    })
  })

  it('does not merge what was not approved', async () => {
    const { calls } = answer({
      'POST /api/tasks/t1/approve': problem(
        409,
        'review_changed',
        'the target moved',
        'look again',
      ),
    })
    await decide({})
    await userEvent.click(button())
    expect(await screen.findByText('the target moved')).toBeTruthy()
    expect(screen.getByText('look again')).toBeTruthy()
    expect(calls.some((call) => call.path.endsWith('/merge'))).toBe(false)
  })

  it('does not approve twice', async () => {
    const { calls } = answer({
      'POST /api/tasks/t1/merge': {
        commit: 'abc',
        tree: '',
        target: 'main',
        target_oid: '',
        audit_seq: 8,
      },
    })
    await decide({ approval: { id: 'a', seq: 7, at: new Date(0) } })
    await userEvent.click(screen.getByRole('button', { name: 'Merge the approved result' }))
    expect(calls.some((call) => call.path.endsWith('/approve'))).toBe(false)
  })
})
