import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import type { Provider } from '@/api/providers'
import { answer, problem, show, showRouted } from '../../../test/render'
import { LocalServers } from './LocalServers'
import { ProviderActions } from './ProviderActions'
import { ProviderDialog } from './ProviderDialog'
import { changeOf, emptyForm, formOf, partsOf } from './providerForm'

const provider: Provider = {
  name: 'own',
  kind: 'openai',
  baseUrl: 'https://models.example/v1',
  models: ['a'],
  gitUrl: '',
  hosts: [],
  region: '',
  service: '',
  local: false,
  needsKey: true,
  scripted: false,
  builtIn: false,
  runnable: false,
  hasSecret: true,
  setAt: null,
  lastUsed: null,
  keptIn: 'file',
}

it('an edit sends what the kind has, and never a key', async () => {
  const { calls } = answer({ 'PUT /api/providers/own': {} })
  await show(<ProviderDialog provider={provider} onClose={() => undefined} />)
  expect(screen.queryByLabelText('Name')).toBeNull()
  const url = screen.getByLabelText('Base URL')
  await userEvent.clear(url)
  await userEvent.type(url, 'https://other.example/v1')
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  expect(calls.map((call) => call.body)).toEqual([
    { kind: 'openai', base_url: 'https://other.example/v1', models: ['a'], local: false },
  ])
})

it('the kind decides the fields, and says who can use it', async () => {
  const { calls } = answer({ 'PUT /api/providers/docs': {} })
  await show(<ProviderDialog provider={null} onClose={() => undefined} />)
  expect(screen.getByText(/Agents and clients/)).toBeTruthy()
  await userEvent.type(screen.getByLabelText('Name'), 'docs')
  await userEvent.selectOptions(screen.getByLabelText('Kind'), 'fetch')
  expect(screen.getByText(/Agents of a task that may reach it/)).toBeTruthy()
  expect(screen.queryByLabelText('Base URL')).toBeNull()
  await userEvent.type(screen.getByLabelText('Hosts'), 'example.com\n*.example.org')
  await userEvent.click(screen.getByRole('button', { name: 'Add' }))
  expect(calls[0]?.body).toEqual({ kind: 'fetch', hosts: ['example.com', '*.example.org'] })
})

it('what is wrong stands at its field, once', async () => {
  const routes: Record<string, unknown> = {
    'PUT /api/providers/Bad%20Name': Response.json(
      { detail: 'validation failed', errors: [{ location: 'path.name', message: 'pattern' }] },
      { status: 422 },
    ),
    'PUT /api/providers/good': problem(422, 'base_url', 'the base URL must look like https://'),
  }
  answer(routes)
  await show(<ProviderDialog provider={null} onClose={() => undefined} />)
  const name = screen.getByLabelText('Name')
  await userEvent.type(name, 'Bad Name')
  await userEvent.click(screen.getByRole('button', { name: 'Add' }))
  expect((await screen.findByRole('alert')).textContent).toContain('begin with a letter')
  expect(name.getAttribute('aria-invalid')).toBe('true')
  await userEvent.clear(name)
  await userEvent.type(name, 'good')
  await userEvent.click(screen.getByRole('button', { name: 'Add' }))
  await screen.findByText('the base URL must look like https://')
  expect(screen.getByLabelText('Base URL').getAttribute('aria-invalid')).toBe('true')
  expect(screen.getAllByRole('alert').length).toBe(1)
})

it('every kind has fields, and an unchanged form changes nothing but itself', () => {
  for (const kind of ['anthropic', 'github', 'git', 'sigv4', 'fetch', 'custom'] as const) {
    expect(partsOf(kind).length).toBeGreaterThan(0)
    expect(changeOf({ ...emptyForm, kind }).kind).toBe(kind)
  }
  expect(changeOf(formOf(provider))).toEqual({
    kind: 'openai',
    baseUrl: provider.baseUrl,
    models: ['a'],
    local: false,
  })
})

it('a test says what is wrong', async () => {
  answer({
    'POST /api/providers/own/test': {
      ok: false,
      class: 'key',
      message: 'own refused the key',
      status: 401,
      latency_ms: 12,
    },
  })
  await showRouted(<ProviderActions provider={provider} />)
  await userEvent.click(screen.getByRole('button', { name: 'Test' }))
  const status = await screen.findByRole('status')
  expect(within(status).getByText('key refused')).toBeTruthy()
  expect(within(status).getByText('own refused the key')).toBeTruthy()
  expect(within(status).getByText('12 ms')).toBeTruthy()
})

it('models that were asked for are kept', async () => {
  const { calls } = answer({
    'GET /api/providers/own/models': { models: ['m-1', 'm-2'], at: '2030-01-01T00:00:00Z' },
    'PUT /api/providers/own': {},
  })
  await showRouted(<ProviderActions provider={provider} />)
  await userEvent.click(screen.getByRole('button', { name: 'Ask for its models' }))
  await expect.poll(() => calls.at(-1)?.body).toEqual({ models: ['m-1', 'm-2'] })
})

it('a server on this machine is added by one click, as exactly that address', async () => {
  const server = { name: 'ollama', base_url: 'http://127.0.0.1:11434', models: ['llama3'] }
  const { calls } = answer({
    'GET /api/local-servers': [server, { ...server, name: 'vllm', added: 'vllm' }],
    'PUT /api/providers/ollama': {},
  })
  await show(<LocalServers />)
  await userEvent.click(await screen.findByRole('button', { name: 'Add ollama' }))
  expect(screen.queryByRole('button', { name: 'Add vllm' })).toBeNull()
  expect(calls.find((call) => call.method === 'PUT')?.body).toEqual({
    kind: 'openai',
    base_url: server.base_url,
    models: ['llama3'],
    local: true,
  })
})
