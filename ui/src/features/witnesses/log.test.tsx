import { act, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it } from 'vitest'
import { useWindow } from '@/store/window'
import { answer, problem, show } from '../../../test/render'
import { Log } from './Log'

const host = { id: 'host', kind: 'host', name: 'this host', at: '2026-03-01T00:00:00Z', rows: 9 }
const file = { id: 'file:/mnt/l', kind: 'file', name: '/mnt/l\u202e', rows: 9, at: host.at }
const repo = { id: 'repo:r1', kind: 'repo', name: 'hello', rows: 0 }

const open = async (days: number, items: object[], more: Record<string, unknown> = {}) => {
  const host = answer({
    'GET /api/audit/retention': { days },
    'GET /api/audit/witnesses': { items },
    ...more,
  })
  await show(<Log />)
  await screen.findByText(/^Contents are kept/)
  return () => host.calls.filter((call) => call.method !== 'GET')
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name })

afterEach(() => useWindow.setState({ online: true }))

it('erases nothing before it was said what is lost', async () => {
  const sent = await open(0, [], { 'PUT /api/audit/retention': { days: 30 } })
  expect(screen.getByText(/backups and exports/)).toBeTruthy()
  await userEvent.type(screen.getByLabelText('Days'), '30')
  await userEvent.click(button('Keep for this long'))
  expect(sent()).toEqual([])
  screen.getByText(/^Contents older than 30 days are erased/)
  await userEvent.click(button('Erase what is older'))
  await waitFor(() => expect(sent().map((call) => call.body)).toEqual([{ days: 30 }]))
})

it('asks again where the number was changed after the question', async () => {
  const sent = await open(0, [])
  await userEvent.type(screen.getByLabelText('Days'), '30')
  await userEvent.click(button('Keep for this long'))
  await userEvent.type(screen.getByLabelText('Days'), '{Backspace}')
  expect(screen.queryByText(/^Contents older/)).toBeNull()
  expect(sent()).toEqual([])
})

it.each(['0', '3651', '1.5', '-3', 'x'])('takes no %s for days', async (text) => {
  await open(0, [])
  await userEvent.type(screen.getByLabelText('Days'), text)
  expect(button('Keep for this long').disabled).toBe(true)
  expect(screen.getByLabelText('Days').getAttribute('aria-invalid')).toBe('true')
})

it('switches erasing off without a question', async () => {
  const sent = await open(30, [], { 'PUT /api/audit/retention': { days: 0 } })
  await userEvent.click(button('Keep for ever'))
  await waitFor(() => expect(sent().map((call) => call.body)).toEqual([{ days: 0 }]))
})

it('tells what each witness saw and found', async () => {
  const other = { ...file, diverged: true, problem: 'row 4 is another' }
  const lost = { id: 'url:u', kind: 'url', name: 'https://w', rows: 0, problem: 'no answer' }
  await open(0, [host, other, lost, repo, { ...repo, id: 'repo:r2', name: 'quiet', off: true }])
  const rows = (await screen.findAllByRole('listitem')).map((row) => row.textContent)
  expect(rows).toEqual([
    expect.stringMatching(/What this host itself remembers.*no finding.*saw 9 records/),
    expect.stringMatching(/saw another log.*row 4 is another/),
    expect.stringMatching(/has seen nothing yet.*not since: no answer/),
    expect.stringMatching(/hello.*from the next merge on/),
    expect.stringMatching(/quietoffTurn on quiet$/),
  ])
  expect(rows.join('')).not.toContain('\u202e')
})

it('removes a file after a question, and switches a repository', async () => {
  const sent = await open(0, [host, file, repo], {
    'DELETE /api/audit/witnesses': new Response(null, { status: 204 }),
    'PUT /api/audit/witnesses': repo,
  })
  await userEvent.click(await screen.findByRole('button', { name: 'Turn off hello' }))
  await userEvent.click(button('Remove'))
  screen.getByText(/no longer speaks against the log/)
  await userEvent.click(screen.getByRole('button', { name: /^Remove \/mnt/ }))
  await waitFor(() => expect(sent().length).toBe(2))
  expect(sent().map(({ method, body }) => [method, body])).toEqual([
    ['PUT', { kind: 'repo', repo: 'r1', off: true }],
    ['DELETE', undefined],
  ])
})

it('adds a C2SP witness with its key, and keeps what was typed where it is refused', async () => {
  const sent = await open(0, [host], {
    'PUT /api/audit/witnesses': problem(422, 'witness', 'the key is of no witness'),
  })
  await userEvent.type(screen.getByLabelText('Address'), 'https://w.example/')
  expect(button('Add witness').disabled).toBe(true)
  await userEvent.type(screen.getByLabelText('Verifier key'), 'w+1+AA')
  await userEvent.click(button('Add witness'))
  await screen.findByText('the key is of no witness')
  expect(screen.getByLabelText<HTMLInputElement>('Verifier key').value).toBe('w+1+AA')
  expect(sent().map((call) => call.body)).toEqual([
    { kind: 'url', url: 'https://w.example/', key: 'w+1+AA', local: false },
  ])
})

it('changes nothing while the host does not answer', async () => {
  await open(30, [host, file, repo])
  await userEvent.type(screen.getByLabelText('Path'), '/mnt/x')
  await screen.findByText('hello')
  act(() => useWindow.setState({ online: false }))
  for (const name of [
    'Keep for ever',
    'Keep for this long',
    'Add file',
    'Turn off hello',
    'Remove',
  ])
    expect(button(name).disabled, name).toBe(true)
})
