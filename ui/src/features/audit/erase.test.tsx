import { act, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it } from 'vitest'
import { useToasts } from '@/store/toasts'
import { useWindow } from '@/store/window'
import { answer, problem, show } from '../../../test/render'
import { EraseButton } from './EraseButton'

afterEach(() => useWindow.setState({ online: true }))

const press = () => userEvent.click(screen.getByRole('button', { name: 'Erase contents' }))
const calls = { items: [], count: 1234 }

it('says how much is lost and what stays, and only then erases', async () => {
  const host = answer({
    'GET /api/audit/calls': calls,
    'POST /api/audit/erase': { row: 77, bodies: 4, bytes: 2048 },
  })
  await show(<EraseButton of={{ run: 'r1' }} />)
  expect(host.calls).toEqual([])
  await press()
  await screen.findByText(/contents of all 1,234 requests of this run.*figures stay.*not reached/)
  expect(host.calls.map((call) => call.method)).toEqual(['GET'])
  await press()
  await waitFor(() => expect(useToasts.getState().toasts.at(-1)?.text).toMatch(/record 77 says so/))
  expect(host.calls.find((call) => call.method === 'POST')?.body).toEqual({ run: 'r1' })
})

it('keeps everything when asked to, and tells why it was refused', async () => {
  const host = answer({
    'GET /api/audit/calls': calls,
    'POST /api/audit/erase': problem(503, 'gateway', 'the gateway does not answer'),
  })
  await show(<EraseButton of={{ task: 't1' }} />)
  await press()
  await userEvent.click(screen.getByRole('button', { name: 'Keep' }))
  await press()
  await press()
  await screen.findByText('the gateway does not answer')
  expect(host.calls.filter((call) => call.method === 'POST').length).toBe(1)
})

it('is locked while the host does not answer', async () => {
  answer({})
  await show(<EraseButton of={{ task: 't1' }} />)
  act(() => useWindow.setState({ online: false }))
  expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true)
})
