import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it } from 'vitest'
import { blankPrice, type Price } from '@/domain/price'
import { useWindow } from '@/store/window'
import { answer, problem, show, showRouted } from '../../../test/render'
import { Budgets } from './Budgets'
import { Meter } from './Meter'
import { PriceDialog } from './PriceDialog'
import { Prices } from './Prices'

const provider = {
  name: 'own',
  kind: 'anthropic',
  base_url: 'https://models.example',
  models: ['m-1', 'm-2'],
  hosts: [],
  runnable: true,
}

const day = {
  scope: 'day',
  day: '2030-01-01',
  limit: { tokens: 1000 },
  spent: { tokens: 700, cost_nano: 2_500_000_000 },
  reserved: { tokens: 200 },
}

beforeEach(() => useWindow.setState({ online: true }))

describe('a budget', () => {
  it('says what was spent, what is reserved and what the limit is', async () => {
    await show(<Meter unit="tokens" of="Day" limit={1000} spent={700} reserved={200} />)
    const meter = screen.getByRole('meter', { name: 'Day: Tokens' })
    expect(meter.getAttribute('aria-valuenow')).toBe('90')
    expect(screen.getByText('700 spent + 200 reserved')).toBeTruthy()
    expect(screen.getByText('of 1,000')).toBeTruthy()
    expect(screen.getByText('nearly used up')).toBeTruthy()
  })

  it('without a limit has no bar, only figures', async () => {
    await show(<Meter unit="usd" of="Day" limit={null} spent={1} reserved={0} />)
    expect(screen.queryByRole('meter')).toBeNull()
    expect(screen.getByText('$0.0001 spent')).toBeTruthy()
    expect(screen.getByText('no limit')).toBeTruthy()
  })

  const routes = {
    'GET /api/budgets': [day],
    'GET /api/providers': [provider],
    'GET /api/prices': { prices: [{ kind: 'anthropic', model: 'm-1', input: '1', output: '2' }] },
    'GET /api/tasks': { items: [], next: '' },
  }

  it('is limited on the spot, exactly as it was typed', async () => {
    const { calls } = answer({ ...routes, 'PUT /api/budgets': [{ ...day, limit: undefined }] })
    await showRouted(<Budgets />)
    await userEvent.click(await screen.findByRole('button', { name: 'Change limit: own' }))
    const form = screen.getByRole('form', { name: 'Limit of own' })
    await userEvent.type(within(form).getByLabelText(/^Tokens/), '3M')
    await userEvent.type(within(form).getByLabelText('USD'), '12.5{Enter}')
    expect(calls.find((call) => call.method === 'PUT')?.body).toEqual({
      scope: 'provider',
      id: 'own',
      budget: { tokens: 3_000_000, cost_nano: 12_500_000_000 },
    })
  })

  it('does not send what is no amount', async () => {
    const { calls } = answer(routes)
    await showRouted(<Budgets />)
    await userEvent.click(
      await screen.findByRole('button', { name: 'Change limit: All providers together' }),
    )
    const form = screen.getByRole('form')
    await userEvent.type(within(form).getByLabelText('USD'), '1e3{Enter}')
    expect(within(form).getByRole('alert').textContent).toContain('12.50')
    expect(calls.some((call) => call.method === 'PUT')).toBe(false)
  })

  it('keeps what was typed when the host refuses', async () => {
    answer({
      ...routes,
      'PUT /api/budgets': problem(422, 'budget', 'the log is full', 'make room'),
    })
    await showRouted(<Budgets />)
    await userEvent.click(await screen.findByRole('button', { name: 'Change limit: own' }))
    await userEvent.type(screen.getByLabelText('USD'), '5{Enter}')
    await screen.findByText('the log is full')
    expect(screen.getByLabelText<HTMLInputElement>('USD').value).toBe('5')
  })

  it('warns of models that a limit in money would refuse', async () => {
    answer(routes)
    await showRouted(<Budgets />)
    await screen.findByText('Models without a price')
    expect(screen.getByText(/own: m-2/)).toBeTruthy()
  })

  it('is locked while the host is gone', async () => {
    answer(routes)
    useWindow.setState({ online: false })
    await showRouted(<Budgets />)
    const button = await screen.findByRole<HTMLButtonElement>('button', {
      name: 'Change limit: own',
    })
    expect(button.disabled).toBe(true)
  })
})

describe('the price table', () => {
  const row: Price = {
    ...blankPrice,
    kind: 'anthropic',
    model: 'm-1',
    input: '1',
    output: '2',
    source: 'https://prices.example/list',
    read: '2030-01-01',
  }

  it('says of each row when and where it was read', async () => {
    answer({ 'GET /api/prices': { prices: [row] }, 'GET /api/providers': [] })
    await showRouted(<Prices />)
    const link = await screen.findByRole('link', { name: /Source of m-1, read on 2030-01-01/ })
    expect(link.getAttribute('href')).toBe('https://prices.example/list')
    expect(link.getAttribute('rel')).toBe('noreferrer')
  })

  it('a figure that is changed loses the address of the old one', async () => {
    const { calls } = answer({ 'PATCH /api/prices': { prices: [] }, 'GET /api/providers': [] })
    await show(<PriceDialog price={row} isNew={false} known={new Set()} onClose={() => {}} />)
    const input = screen.getByLabelText('Input')
    await userEvent.clear(input)
    await userEvent.type(input, '1.5')
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(calls.find((call) => call.method === 'PATCH')?.body).toMatchObject({
      set: [{ kind: 'anthropic', model: 'm-1', input: '1.5', output: '2', source: '', read: '' }],
    })
  })

  it('a new row needs a model and figures', async () => {
    const { calls } = answer({ 'GET /api/providers': [] })
    await show(<PriceDialog price={blankPrice} isNew known={new Set()} onClose={() => {}} />)
    await userEvent.click(screen.getByRole('button', { name: 'Save' }))
    expect(screen.getAllByRole('alert').length).toBe(3)
    expect(calls.some((call) => call.method === 'PATCH')).toBe(false)
  })
})
