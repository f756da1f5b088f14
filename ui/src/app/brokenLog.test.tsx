import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { answer, problem, show } from '../../test/render'
import { BrokenLog } from './BrokenLog'

const status = (gateway: object) => ({
  version: 'x',
  driver: 'native',
  driver_note: '',
  isolation: '',
  demo: false,
  data: '/d',
  witness: { rows: 0, stale: false },
  gateway: { ok: false, records: 9, head: 'h', ...gateway },
})

const broken = {
  row: 10,
  file: 'seg-000001.log',
  offset: 3038,
  cause: 'checksum \u202ediffers',
  rows: 9,
}

it('restarts a broken log after a second press, for the damage that is shown', async () => {
  const { calls } = answer({
    'GET /api/status': status({ broken }),
    'POST /api/audit/restart': { kept: '/d/audit-broken-1', rows: 9, head: 'h' },
  })
  await show(<BrokenLog />)
  const alert = await screen.findByRole('alert')
  expect(alert.textContent).toContain('broken at row 10')
  expect(alert.textContent).toContain('9 rows before it are intact')
  expect(alert.textContent).not.toContain('\u202e')
  const posts = () => calls.filter((call) => call.method === 'POST')
  await userEvent.click(screen.getByRole('button', { name: 'Keep it and begin a new log' }))
  expect(posts()).toHaveLength(0)
  await userEvent.click(screen.getByRole('button', { name: 'Keep it and begin a new log' }))
  await waitFor(() => expect(posts()).toHaveLength(1))
  expect(posts()[0]?.body).toEqual({ row: 10, file: 'seg-000001.log' })
})

it('says why it could not', async () => {
  answer({
    'GET /api/status': status({ broken }),
    'POST /api/audit/restart': problem(409, 'log-broken-elsewhere', 'look again'),
  })
  await show(<BrokenLog />)
  const restart = () => screen.getByRole('button', { name: 'Keep it and begin a new log' })
  await screen.findByRole('alert')
  await userEvent.click(restart())
  await userEvent.click(restart())
  await waitFor(() => expect(screen.getByRole('alert').textContent).toContain('look again'))
})

it('shows nothing of a log that is whole', async () => {
  const { calls } = answer({ 'GET /api/status': status({ ok: true }) })
  const { container } = await show(<BrokenLog />)
  await waitFor(() => expect(calls).toHaveLength(1))
  expect(container.textContent).toBe('')
})
