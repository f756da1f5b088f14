import { describe, expect, it } from 'vitest'
import { fillOf, readLimit, textOf } from './budget'
import { limitOf, noLimit, wireLimit } from './limit'
import { parseCount, parseUSD, writeUSD } from './money'
import { blankPrice, isPriced, unpriced, withFigure } from './price'
import { usd } from './usd'

describe('an amount in USD', () => {
  it.each([
    ['3.75', 3_750_000_000],
    ['0', 0],
    ['12', 12_000_000_000],
    ['0.000000001', 1],
    [' 2.5 ', 2_500_000_000],
    ['1e3', null],
    ['-1', null],
    ['1.', null],
    ['.5', null],
    ['1,5', null],
    ['$3', null],
    ['0.0000000001', null],
    ['1000000', null],
    ['', null],
  ])('%j is read as %s', (text, nano) => expect(parseUSD(text)).toBe(nano))

  it.each([0, 1, 500_000_000, 3_750_000_000, 999_999_999_999_999])(
    '%d is written as it is read',
    (nano) => expect(parseUSD(writeUSD(nano))).toBe(nano),
  )

  it('never looks free when it is not', () => {
    expect(usd(1, 'en')).toBe('$0.0001')
    expect(usd(0, 'en')).toBe('$0.00')
    expect(usd(12_500_000_000, 'en')).toBe('$12.50')
  })
})

describe('a number of tokens', () => {
  it.each([
    ['3000000', 3_000_000],
    ['3,000,000', 3_000_000],
    ['3 000 000', 3_000_000],
    ['3M', 3_000_000],
    ['1.5m', 1_500_000],
    ['20 k', 20_000],
    ['1.5', null],
    ['3,00', null],
    ['-1', null],
    ['many', null],
  ])('%j is read as %s', (text, tokens) => expect(parseCount(text)).toBe(tokens))
})

describe('a limit', () => {
  it('is none where nothing is typed', () => {
    expect(readLimit({ tokens: '', usd: ' ' })).toEqual({
      limit: noLimit,
      wrong: { tokens: false, usd: false },
    })
  })
  it('is wrong where something else than an amount is typed', () => {
    expect(readLimit({ tokens: 'x', usd: '1e3' }).wrong).toEqual({ tokens: true, usd: true })
  })
  it('of nothing is wrong for a task, which could not run', () => {
    expect(readLimit({ tokens: '0', usd: '0' }, 'wrong').wrong).toEqual({ tokens: true, usd: true })
    expect(readLimit({ tokens: '0', usd: '0' }).wrong).toEqual({ tokens: false, usd: false })
  })
  it('survives the wire', () => {
    for (const limit of [noLimit, { tokens: 5, cost: null }, { tokens: 7, cost: 9 }]) {
      expect(limitOf(wireLimit(limit))).toEqual(limit)
    }
  })
  it('of nothing is nothing of both', () => {
    expect(limitOf(wireLimit({ tokens: 0, cost: null }))).toEqual({ tokens: 0, cost: 0 })
    expect(limitOf(wireLimit({ tokens: null, cost: 0 }))).toEqual({ tokens: 0, cost: 0 })
  })
  it('is absent on the wire where there is none', () => {
    expect(limitOf(undefined)).toEqual(noLimit)
    expect(limitOf(null)).toEqual(noLimit)
  })
  it('stands in a form as it was typed', () => {
    const limit = { tokens: 3_000_000, cost: 12_500_000_000 }
    expect(textOf(limit)).toEqual({ tokens: '3000000', usd: '12.5' })
    expect(readLimit(textOf(limit)).limit).toEqual(limit)
  })
})

describe('the bar of a budget', () => {
  it.each([
    ['is open without a limit', null, 5, 5, { spent: 0, reserved: 0, level: 'open' }],
    ['shows spent and reserved', 100, 20, 30, { spent: 20, reserved: 30, level: 'ok' }],
    ['warns from four fifths', 100, 60, 20, { spent: 60, reserved: 20, level: 'near' }],
    ['is over when all is taken', 100, 60, 40, { spent: 60, reserved: 40, level: 'over' }],
    ['does not leave its frame', 100, 250, 40, { spent: 100, reserved: 0, level: 'over' }],
    ['is full when nothing is permitted', 0, 0, 0, { spent: 100, reserved: 0, level: 'over' }],
  ] as const)('%s', (_name, limit, spent, reserved, want) =>
    expect(fillOf(limit, spent, reserved)).toEqual(want),
  )
})

describe('a model has a price', () => {
  const row = (model: string, upstream = '', kind = 'anthropic') => ({
    upstream,
    kind,
    model,
    upTo: 0,
  })
  it.each([
    ['by its name', [row('m-1')], 'm-1', true],
    ['as a dated snapshot', [row('m-1')], 'm-1-20251101', true],
    ['as the latest', [row('m-1')], 'm-1-latest', true],
    ['not as another version', [row('m-1')], 'm-1-5', false],
    ['by the beginning of its name', [row('m-*')], 'm-2-large', true],
    ['not by a row of another kind', [row('m-1', '', 'openai')], 'm-1', false],
    ['not by a row of another provider', [row('m-1', 'other', '')], 'm-1', false],
    ['by a row of its provider', [row('*', 'own', '')], 'anything', true],
  ] as const)('%s', (_name, rows, model, want) =>
    expect(isPriced(rows, 'own', 'anthropic', model)).toBe(want),
  )
  it('and those without one are named', () => {
    const providers = [{ name: 'own', kind: 'anthropic', models: ['m-1', 'x'] }]
    expect(unpriced([row('m-1')], providers)).toEqual([{ provider: 'own', models: ['x'] }])
  })
})

describe('a figure that is changed', () => {
  const row = { ...blankPrice, model: 'm', input: '1', source: 'https://x.example', read: 'day' }
  it('takes the row’s address along', () => {
    expect(withFigure(row, row, 'input', '2')).toMatchObject({ input: '2', source: '', read: '' })
  })
  it('keeps an address that was given with it', () => {
    const given = { ...row, source: 'https://y.example' }
    expect(withFigure(given, row, 'input', '2').source).toBe('https://y.example')
  })
})
