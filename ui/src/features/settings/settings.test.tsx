import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import type { Provider } from '@/api/providers'
import { answer, show } from '../../../test/render'
import { KeyForm } from './KeyForm'

const provider: Provider = {
  name: 'anthropic',
  kind: 'anthropic',
  baseUrl: '',
  models: [],
  gitUrl: '',
  hosts: [],
  region: '',
  service: '',
  local: false,
  needsKey: true,
  scripted: false,
  builtIn: true,
  runnable: true,
  hasSecret: false,
  setAt: null,
  lastUsed: null,
  keptIn: '',
}

it('a key goes out once and stays nowhere', async () => {
  const { calls } = answer({ 'PUT /api/providers/anthropic/secret': {} })
  const { container } = await show(<KeyForm provider={provider} />)
  const field = screen.getByLabelText<HTMLInputElement>('Key for anthropic')
  expect(field.type).toBe('password')
  await userEvent.type(field, 'sk-canary')
  await userEvent.click(screen.getByRole('button', { name: 'Set key' }))
  expect(calls.map((call) => call.body)).toEqual([{ value: 'sk-canary' }])
  expect(field.value).toBe('')
  expect(container.innerHTML).not.toContain('sk-canary')
  expect(JSON.stringify({ ...localStorage, ...sessionStorage })).not.toContain('sk-canary')
})
