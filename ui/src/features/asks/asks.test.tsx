import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it } from 'vitest'
import { useWindow } from '@/store/window'
import { makeTask } from '../../../test/make'
import { answer, problem, showRouted } from '../../../test/render'
import { AsksDialog } from './AsksDialog'
import { TaskAsks } from './TaskAsks'

const held = {
  id: 'a1',
  session: 's1',
  task: 't1',
  run: 'r1',
  agent: 'solo',
  upstream: 'hub',
  method: 'POST',
  target: 'https://api.github.com/repos/o/r/git/refs',
  operations: ['github.create-branch'],
  refs: ['refs/heads/moeca/\u202ex'],
  body: '{"ref":"<img src=x>"}',
  body_bytes: 21,
  rule: { operation: 'github.create-branch' },
  asked_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 600_000).toISOString(),
}
const task = makeTask({ status: 'waiting' })
const region = () => screen.findByRole('region', { name: /wants to create a branch at hub/ })

beforeEach(() => useWindow.setState({ online: true }))

describe('a request that waits', () => {
  it('says what, where and by which rule, hostile text as text', async () => {
    answer({ 'GET /api/asks': [held] })
    await showRouted(<TaskAsks task={task.id} />)
    const panel = await region()
    expect(panel.textContent).toContain('POST https://api.github.com/repos/o/r/git/refs')
    expect(panel.textContent).not.toContain('\u202e')
    expect(panel.querySelector('img')).toBeNull()
    expect(within(panel).getByText(/left$/).textContent).toMatch(/^(9:\d\d|10:00) left$/)
  })

  it('of another task is not here', async () => {
    answer({ 'GET /api/asks': [{ ...held, task: 't2' }, held] })
    await showRouted(<TaskAsks task={task.id} />)
    await region()
    expect(screen.getAllByRole('region').length).toBe(1)
  })

  it('has no button under the finger of somebody who types', async () => {
    answer({ 'GET /api/asks': [held] })
    await showRouted(<TaskAsks task={task.id} />)
    const allow = within(await region()).getByRole('button', { name: 'Allow' })
    expect(document.activeElement).not.toBe(allow)
    expect(allow.tabIndex).toBe(0)
  })

  it.each([
    ['Refuse', false, /^Refused\. Nothing was sent/],
    ['Allow', true, /^Allowed\./],
  ] as const)('%s is sent once and its row is named', async (name, allow, says) => {
    const routes: Record<string, unknown> = {
      'GET /api/asks': [held],
      'POST /api/asks/a1': { id: 'a1', allow, seq: 42 },
    }
    const { calls } = answer(routes)
    await showRouted(<TaskAsks task={task.id} />)
    const button = within(await region()).getByRole('button', { name })
    routes['GET /api/asks'] = []
    await userEvent.click(button)
    expect((await screen.findByText(says)).textContent).toContain('audit row 42')
    expect(screen.getByRole('link', { name: 'audit row 42' }).getAttribute('href')).toContain('42')
    expect(screen.queryByRole('button', { name: 'Allow' })).toBeNull()
    expect(calls.filter((call) => call.method === 'POST').map((call) => call.body)).toEqual([
      { allow },
    ])
    await userEvent.click(screen.getByRole('button', { name: 'Close' }))
    expect(screen.queryByRole('region')).toBeNull()
  })

  it('that ended meanwhile says so and offers nothing more', async () => {
    answer({
      'GET /api/asks': [held],
      'POST /api/asks/a1': problem(409, 'ask-ended', 'nobody answered in time'),
    })
    await showRouted(<TaskAsks task={task.id} />)
    await userEvent.click(within(await region()).getByRole('button', { name: 'Allow' }))
    expect((await screen.findByText(/nobody answered in time/)).textContent).toContain(
      'could not be answered',
    )
    expect(screen.queryByRole('button', { name: 'Allow' })).toBeNull()
  })

  it('stays open when the log could not take the answer', async () => {
    answer({
      'GET /api/asks': [held],
      'POST /api/asks/a1': problem(503, 'gateway', 'the log is full', 'make room'),
    })
    await showRouted(<TaskAsks task={task.id} />)
    await userEvent.click(within(await region()).getByRole('button', { name: 'Allow' }))
    await screen.findByText('the log is full')
    expect(screen.getByRole('button', { name: 'Allow' })).toBeTruthy()
  })

  it('cannot be answered while the host is gone', async () => {
    answer({ 'GET /api/asks': [held] })
    useWindow.setState({ online: false })
    await showRouted(<TaskAsks task={task.id} />)
    const panel = await region()
    for (const name of ['Allow', 'Refuse']) {
      expect(within(panel).getByRole<HTMLButtonElement>('button', { name }).disabled).toBe(true)
    }
  })
})

it('a program’s request is in the list of all, and named as one', async () => {
  answer({
    'GET /api/asks': [{ ...held, task: undefined, agent: 'my script' }],
    'GET /api/tasks': { items: [], next: '' },
  })
  await showRouted(<AsksDialog onClose={() => {}} />)
  await screen.findByText(/^A program wants to create a branch at hub/)
  expect(screen.getByText('my script')).toBeTruthy()
})
