import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Task } from '@/domain/model'
import { useWindow } from '@/store/window'
import { makeTask } from '../../../test/make'
import { answer, showRouted } from '../../../test/render'
import { Means, type MeansState } from './Means'
import { Remedy } from './Remedy'

const hub = { name: 'hub', kind: 'github', base_url: 'https://x', models: [], hosts: [] }
const model = { ...hub, name: 'own', kind: 'openai' }
const routes = {
  'GET /api/providers': [hub, model],
  'GET /api/budgets': [
    {
      scope: 'task',
      id: 't1',
      limit: { tokens: 1000 },
      spent: { tokens: 950, cost_nano: 250_000_000 },
      reserved: {},
    },
  ],
  'PATCH /api/tasks/t1': {},
}

function Held({ task, start = 'closed' }: { task: Task; start?: MeansState }) {
  const [state, setState] = useState<MeansState>(start)
  return <Means task={task} state={state} onState={setState} />
}

beforeEach(() => useWindow.setState({ online: true }))

describe('what a task may spend and reach', () => {
  const task = makeTask({
    status: 'failed',
    version: 7,
    budget: { tokens: 1000, cost: null },
    reach: ['hub'],
  })

  it('is told in one line, with what was spent', async () => {
    answer(routes)
    await showRouted(<Held task={task} />)
    await screen.findByText(/\$0\.25 · 950 tokens of 1K · may reach hub/)
  })

  it('opens to bars of the figures the gateway counted', async () => {
    answer(routes)
    await showRouted(<Held task={task} />)
    await userEvent.click(screen.getByRole('button', { name: /^Budget:/ }))
    const meter = await screen.findByRole('meter', { name: /The task.*Tokens/ })
    await expect.poll(() => meter.getAttribute('aria-valuenow')).toBe('95')
  })

  it('is changed on the spot, with the version that was shown', async () => {
    const { calls } = answer(routes)
    await showRouted(<Held task={task} start="edit" />)
    const whole = screen.getByRole('group', { name: /^The task/ })
    const tokens = within(whole).getByLabelText(/^Tokens/)
    await userEvent.clear(tokens)
    await userEvent.type(tokens, '2M')
    await userEvent.type(
      within(screen.getByRole('group', { name: 'Each run' })).getByLabelText('USD'),
      '1.50',
    )
    await userEvent.click(await screen.findByRole('checkbox', { name: /hub/ }))
    expect(screen.queryByRole('checkbox', { name: /own/ })).toBeNull()
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(calls.find((call) => call.method === 'PATCH')?.body).toEqual({
      version: 7,
      budget: { tokens: 2_000_000, cost_nano: 0 },
      run_budget: { tokens: 0, cost_nano: 1_500_000_000 },
      reach: [],
    })
  })

  it('cannot be nothing: such a task could not run', async () => {
    const { calls } = answer(routes)
    await showRouted(<Held task={task} start="edit" />)
    const whole = screen.getByRole('group', { name: /^The task/ })
    await userEvent.type(within(whole).getByLabelText('USD'), '0')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(within(whole).getByRole('alert')).toBeTruthy()
    expect(calls.some((call) => call.method === 'PATCH')).toBe(false)
  })

  it('of a task that is done is not changed any more', async () => {
    answer(routes)
    await showRouted(<Held task={makeTask({ status: 'done' })} />)
    expect(screen.queryByRole('button', { name: /Budget and reach/ })).toBeNull()
  })
})

describe('a run that a budget ended', () => {
  const failed = (cause: string) => makeTask({ status: 'failed', cause })
  it('offers to raise the budget of the task right there', async () => {
    let raised = 0
    const cause = 'the budget of the task does not suffice for another call: raise it'
    await showRouted(<Remedy task={failed(cause)} onRaise={() => raised++} />)
    await userEvent.click(screen.getByRole('button', { name: 'Raise the budget' }))
    expect(raised).toBe(1)
  })
  it.each([
    ['the budget of the day does not suffice for another call: x', '/settings/budgets'],
    ['the budget of own for today does not suffice for another call: x', '/settings/budgets'],
    ['a budget in USD applies and the model m has no price: x', '/settings/prices'],
  ])('%s leads to %s', async (cause, path) => {
    await showRouted(<Remedy task={failed(cause)} onRaise={() => {}} />)
    expect(screen.getByRole('link').getAttribute('href')).toBe(path)
  })
  it('offers nothing for another failure', async () => {
    const { container } = await showRouted(<Remedy task={failed('it broke')} onRaise={() => {}} />)
    expect(container.querySelector('button, a')).toBeNull()
  })
})
