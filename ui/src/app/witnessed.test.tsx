import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { answer, showRouted } from '../../test/render'
import { StatusStrip } from './StatusStrip'

const status = (witness: object) => ({
  version: 'x',
  driver: 'native',
  driver_note: '',
  isolation: '',
  demo: false,
  data: '/d',
  gateway: { ok: true, records: 9, head: 'h' },
  witness,
})

it('says when the log was seen last, and marks what is too long ago', async () => {
  const at = new Date(Date.now() - 26 * 3600_000).toISOString()
  answer({
    'GET /api/status': status({ kind: 'file', name: '/mnt/list', at, rows: 9, stale: true }),
    'GET /api/tasks': { items: [] },
  })
  await showRouted(<StatusStrip />)
  const said = await screen.findByText(/^witnessed/)
  expect(said.className).toContain('amber')
  expect(said.querySelector('time')?.dateTime).toBe(at)
})

it('says nothing where nobody saw it', async () => {
  answer({
    'GET /api/status': status({ rows: 0, stale: false }),
    'GET /api/tasks': { items: [] },
  })
  await showRouted(<StatusStrip />)
  await screen.findByText(/9 records/)
  expect(screen.queryByText(/^witnessed/)).toBeNull()
})
