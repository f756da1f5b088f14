import { describe, expect, it } from 'vitest'
import { chartOf, counted, duration, percent, windowOf } from './auditMetrics'
import { selected, stageOf, tabOf, toPlace } from './auditPlace'

describe('an address', () => {
  it('says what it says and nothing else', () => {
    const place = { view: 'rows', q: 'kind:refusal', seq: 7, live: true }
    expect(toPlace({ ...place, odd: 1, part: -2, by: 'colour' })).toEqual(place)
  })
  it('may hold an id that looks like a number', () => {
    expect(toPlace({ task: 123 })).toEqual({ task: '123' })
  })
  it('of a row alone is that of the table', () => {
    expect(tabOf({ seq: 3 })).toBe('rows')
    expect(tabOf({})).toBe('trace')
    expect(tabOf({ view: 'trace', seq: 3 })).toBe('trace')
  })
  it('keeps what has no task, run or stage apart from nothing selected', () => {
    const stage = { task: '', run: '', stage: 's' }
    const place = selected(stage, 'm', 0)
    expect(place).toMatchObject({ task: '-', run: '-', stage: 's', message: 'm', part: 1 })
    expect(stageOf(place)).toEqual(stage)
    expect(stageOf(selected({ task: 't' }))).toBeNull()
  })
})

const sums = {
  calls: 1,
  open: 0,
  failed: 0,
  refused: 0,
  unmetered: 0,
  tools: 0,
  input: 2,
  output: 3,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  searches: 0,
  cost: 0,
  durationUs: 0,
  bytesIn: 0,
  bytesOut: 0,
  sessions: 1,
}

describe('a chart', () => {
  const now = new Date('2026-03-04T12:30:00Z')
  const point = { ...sums, at: new Date('2026-03-04T10:00:00Z') }
  const group = (key: string) => ({ ...sums, key, more: 0, points: [point] })
  const all = { ...group(''), calls: 3 }
  const metrics = { groups: [group('a'), group('b'), group('c')], rest: group(''), all }
  const chart = chartOf(metrics, 'tokens', 2, windowOf('1d', now), now)
  it('has every hour, also those in which nothing was', () => {
    expect(chart.at.length).toBe(24)
    expect(chart.series[0]?.values.filter((value) => value > 0)).toEqual([5])
  })
  it('sums what has no line of its own', () => {
    expect(chart.series.map((one) => one.key)).toEqual(['a', 'b', ''])
    expect(Math.max(...(chart.series[2]?.values ?? []))).toBe(10)
  })
})

describe('figures for people', () => {
  it.each([
    [500, '0.5 ms'],
    [12_000, '12 ms'],
    [3_400_000, '3.4 s'],
    [65_000_000, '1 min 5 s'],
    [3_660_000_000, '1 h 1 min'],
  ])('%d µs', (us, want) => expect(duration(us, 'en')).toBe(want))
  it('a count that the host broke off says so', () => {
    expect([9_999, 10_000, 10_001].map((n) => counted(n, 'en'))).toEqual([
      '9,999',
      '10,000',
      '10,000+',
    ])
  })
  it('a share of nothing is none', () => {
    expect(percent({ a: 0, b: 5 })).toBeNull()
    expect(percent({ a: 200, b: 150 })).toBe(-25)
  })
})
