import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, expect, it } from 'vitest'
import { useWindow } from '@/store/window'
import { answer, problem, showRouted } from '../../../test/render'
import { Sessions } from './Sessions'

const live = {
  id: 's1',
  program: true,
  service: false,
  name: 'my script',
  reach: ['own', 'hub'],
  grants: ['web-search', 'beta:x'],
  repos: ['o/r'],
  budget: {},
  spent: { tokens: 500_000 },
  unattended: false,
  minted_at: new Date().toISOString(),
  expires_at: new Date(Date.now() + 3_600_000).toISOString(),
}
const provider = (name: string, kind: string) => ({
  name,
  kind,
  base_url: 'https://x',
  models: [],
  hosts: [],
  has_secret: true,
  needs_key: true,
})
const routes = {
  'GET /api/sessions': [live, { ...live, id: 's2', program: false, name: 'solo', task: 't1' }],
  'GET /api/providers': [provider('own', 'anthropic'), provider('hub', 'github')],
  'GET /api/tasks': { items: [], next: '' },
}

beforeEach(() => useWindow.setState({ online: true }))

it('says what a program may reach, what it spent and when it ends', async () => {
  answer(routes)
  await showRouted(<Sessions />)
  const list = await screen.findByRole('list', { name: 'Programs on this machine' })
  await within(list).findByText('my script')
  expect(within(list).getByText(/searches run by the provider/)).toBeTruthy()
  expect(within(list).getByText('beta:x')).toBeTruthy()
  expect(within(list).getByText(/^ends in (59:|1:00:)/)).toBeTruthy()
  expect(within(list).getByRole('meter').getAttribute('aria-valuenow')).toBe('25')
})

it('does not take a program without a name for the host', async () => {
  const host = { ...live, id: 's3', program: false, service: true, name: '' }
  answer({ ...routes, 'GET /api/sessions': [{ ...live, name: '' }, host] })
  await showRouted(<Sessions />)
  const programs = await screen.findByRole('list', { name: 'Programs on this machine' })
  await within(programs).findByText('a program with a session token')
  expect(within(programs).queryByText('moeca itself')).toBeNull()
  expect(screen.getAllByText('moeca itself').length).toBeGreaterThan(0)
})

it('revokes a program after asking, and never a sandbox', async () => {
  const { calls } = answer({ ...routes, 'DELETE /api/sessions/s1': live })
  await showRouted(<Sessions />)
  await userEvent.click(await screen.findByRole('button', { name: 'Revoke' }))
  expect(document.activeElement?.textContent).toBe('Keep')
  expect(calls.some((call) => call.method === 'DELETE')).toBe(false)
  await userEvent.click(screen.getByRole('button', { name: 'Revoke my script' }))
  expect(calls.filter((call) => call.method === 'DELETE').map((call) => call.path)).toEqual([
    '/api/sessions/s1',
  ])
})

const made = {
  session: live,
  token: 'tok-canary',
  header: 'X-Moeca-Session',
  urls: [
    {
      provider: 'own',
      kind: 'anthropic',
      url: 'http://127.0.0.1:1/own',
      variable: 'ANTHROPIC_BASE_URL',
      key_variable: 'ANTHROPIC_API_KEY',
    },
  ],
}

it('makes a token, shows it once with lines to paste, and forgets it', async () => {
  const { calls } = answer({ ...routes, 'POST /api/sessions': made })
  const { container } = await showRouted(<Sessions />)
  await userEvent.click(await screen.findByRole('button', { name: 'Make a token' }))
  const dialog = await screen.findByRole('dialog', { name: 'Make a token' })
  await userEvent.type(await within(dialog).findByLabelText('Name'), 'my script')
  expect(within(dialog).queryByText(/searches run by the provider/)).toBeNull()
  await userEvent.click(within(dialog).getByRole('checkbox', { name: /^own/ }))
  await userEvent.click(within(dialog).getByRole('checkbox', { name: /^web-search/ }))
  await userEvent.type(within(dialog).getByLabelText(/^Tokens/), '1M')
  await userEvent.click(within(dialog).getByRole('button', { name: 'Make a token' }))
  expect(calls.find((call) => call.method === 'POST')?.body).toEqual({
    name: 'my script',
    reach: ['own'],
    grants: ['web-search'],
    repos: [],
    unattended: false,
    budget: { tokens: 1_000_000, cost_nano: 0 },
    ttl_seconds: 3600,
  })
  const shown = await screen.findByRole('dialog', { name: 'Token made' })
  expect(within(shown).getByText('tok-canary')).toBeTruthy()
  expect(shown.textContent).toContain('export ANTHROPIC_API_KEY=tok-canary')
  await userEvent.click(within(shown).getByRole('button', { name: 'I have copied it' }))
  expect(container.innerHTML).not.toContain('tok-canary')
  expect(JSON.stringify({ ...localStorage, ...sessionStorage })).not.toContain('tok-canary')
})

it('does not make a token that reaches nothing, and keeps what was typed on a refusal', async () => {
  const { calls } = answer({
    ...routes,
    'POST /api/sessions': problem(422, 'repo', '"x" is no repository', 'write owner/name'),
  })
  await showRouted(<Sessions />)
  await userEvent.click(await screen.findByRole('button', { name: 'Make a token' }))
  const dialog = await screen.findByRole('dialog')
  const submit = () => userEvent.click(within(dialog).getByRole('button', { name: 'Make a token' }))
  await within(dialog).findByLabelText('Name')
  await submit()
  expect(calls.some((call) => call.method === 'POST')).toBe(false)
  await userEvent.click(within(dialog).getByRole('checkbox', { name: /^hub/ }))
  await userEvent.type(within(dialog).getByLabelText('Repositories'), 'x')
  await submit()
  await within(dialog).findByText('"x" is no repository')
  expect(within(dialog).getByLabelText<HTMLTextAreaElement>('Repositories').value).toBe('x')
})
