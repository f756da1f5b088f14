import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import type { ProviderPolicy } from '@/api/policies'
import { answer, problem, show } from '../../../test/render'
import { PolicyEditor } from './PolicyEditor'

const shipped = {
  kind: 'github',
  operations: [
    { name: 'github.create-branch', read: false, permitted: true, routes: ['POST /x'] },
    { name: 'github.review', read: false, permitted: false, routes: [] },
  ],
  never: [{ what: 'merging', why: 'merging is for a person' }],
  branch_prefixes: ['moeca/'],
  protected_refs: ['main', 'master'],
}
const none = { writes: [], stops: [], paths: [], branchPrefixes: [], protectedRefs: [] }
const saved: ProviderPolicy = {
  policy: none,
  shipped: {
    kind: 'github',
    operations: shipped.operations,
    never: shipped.never,
    branchPrefixes: shipped.branch_prefixes,
    protectedRefs: shipped.protected_refs,
  },
}
const place = 'PATCH /api/providers/hub/policy'

it('says what a change does before it is saved, and sends exactly that', async () => {
  const { calls } = answer({ [place]: { policy: {}, shipped } })
  await show(<PolicyEditor provider="hub" saved={saved} />)
  const status = screen.getByRole('status')
  expect(status.textContent).toContain('Nothing is changed')
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Save' }).disabled).toBe(true)
  const branch = screen.getByRole('group', { name: 'create a branch' })
  await userEvent.click(within(branch).getByLabelText('Ask me'))
  const review = screen.getByRole('group', { name: /^review a pull request/ })
  await userEvent.click(within(review).getByLabelText('Permit'))
  expect(status.textContent).toContain('You are asked before agents: create a branch.')
  expect(status.textContent).toContain('Agents may now: review a pull request')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(calls[0]?.body).toEqual({
    writes: [{ operation: 'github.review' }],
    forbidden: [{ operation: 'github.create-branch', effect: 'ask' }],
    paths: [],
    branch_prefixes: [],
    protected_refs: [],
  })
})

it('is worked with the arrow keys', async () => {
  answer({})
  await show(<PolicyEditor provider="hub" saved={saved} />)
  const branch = screen.getByRole('group', { name: 'create a branch' })
  const permit = within(branch).getByLabelText<HTMLInputElement>('Permit')
  expect(permit.checked).toBe(true)
  expect(
    new Set(
      within(branch)
        .getAllByRole<HTMLInputElement>('radio')
        .map((r) => r.name),
    ).size,
  ).toBe(1)
})

it('a rule by path is added, sent, and shown wrong at its field in the gateway’s words', async () => {
  const refusal = 'path "repos": begin with a slash and write segments'
  const { calls } = answer({ [place]: problem(422, 'invalid-policy', refusal, 'correct the rule') })
  await show(<PolicyEditor provider="hub" saved={saved} />)
  await userEvent.click(screen.getByRole('button', { name: 'Permit more' }))
  await userEvent.keyboard('repos')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(calls[0]?.body).toMatchObject({ writes: [{ method: 'POST', path: 'repos' }] })
  const rules = screen.getByRole('group', { name: 'Also permitted' })
  expect((await within(rules).findByRole('alert')).textContent).toBe(refusal)
  expect(within(rules).getByDisplayValue('repos').getAttribute('aria-invalid')).toBe('true')
  expect(screen.getAllByRole('alert').length).toBe(1)
})

it('shows what nothing opens, and what is protected anyway', async () => {
  answer({})
  await show(<PolicyEditor provider="hub" saved={saved} />)
  expect(screen.getByText('Merging a pull request or a branch')).toBeTruthy()
  expect(screen.getByText(/^Beside main, master/)).toBeTruthy()
})

it('goes back to what is saved', async () => {
  answer({})
  await show(<PolicyEditor provider="hub" saved={saved} />)
  await userEvent.type(screen.getByLabelText('Only these paths'), '/a')
  expect(screen.getByRole('status').textContent).toContain('these paths only: /a')
  await userEvent.click(screen.getByRole('button', { name: 'Discard' }))
  expect(screen.getByLabelText<HTMLTextAreaElement>('Only these paths').value).toBe('')
})
