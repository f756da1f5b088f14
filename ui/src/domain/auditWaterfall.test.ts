import { describe, expect, it } from 'vitest'
import { makeCall } from '../../test/makeAudit'
import { random } from '../../test/random'
import { callKind, callTitle, messageOf } from './auditCall'
import { duration } from './auditMetrics'
import { type Bar, ticks, waterfall } from './auditWaterfall'

const at = (seq: number, from: number, ms: number) =>
  makeCall({ seq, time: new Date(from), durationUs: ms * 1000 })

describe('the waterfall', () => {
  it('leaves out a long time without calls, and names it', () => {
    const { lanes, busy, idle } = waterfall([at(1, 0, 100), at(3, 60_100, 100)])
    expect(lanes.map((lane) => lane.kind)).toEqual(['call', 'gap', 'call'])
    expect([busy, idle]).toEqual([200, 60_000])
    expect(lanes[2]).toMatchObject({ left: 0.5, width: 0.5 })
  })
  it('keeps a short pause as empty axis', () => {
    const { lanes, idle } = waterfall([at(1, 0, 100), at(3, 500, 100)])
    expect(lanes.map((lane) => lane.kind)).toEqual(['call', 'call'])
    expect(idle).toBe(0)
  })
  it('is empty without calls', () => {
    expect(waterfall([])).toEqual({ lanes: [], busy: 0, idle: 0 })
  })
  it('draws calls that took no time', () => {
    expect(waterfall([at(1, 5, 0)]).lanes).toMatchObject([{ left: 0, width: 0 }])
  })
})

describe('whatever the calls', () => {
  const next = random(3)
  const rounds = Array.from({ length: 300 }, () =>
    Array.from({ length: next(30) }, (_, seq) =>
      at(seq + 1, next(10) * next(100_000), next(3) * next(5000)),
    ),
  )
  it('every one has a bar inside the axis, in the order of time', () => {
    for (const calls of rounds) {
      const bars = waterfall(calls).lanes.filter((lane): lane is Bar => lane.kind === 'call')
      expect(bars.map((bar) => bar.call.seq).sort()).toEqual(calls.map((call) => call.seq).sort())
      let last = 0
      for (const bar of bars) {
        expect(bar.left).toBeGreaterThanOrEqual(last)
        expect(bar.left + bar.width).toBeLessThanOrEqual(1 + 1e-9)
        last = bar.left
      }
    }
  })
  it('axis and gaps together are the time from first to last', () => {
    for (const calls of rounds) {
      if (calls.length === 0) continue
      const { busy, idle } = waterfall(calls)
      const from = Math.min(...calls.map((call) => call.time.getTime()))
      const to = Math.max(...calls.map((call) => call.time.getTime() + call.durationUs / 1000))
      expect(busy + idle).toBeCloseTo(to - from, 3)
    }
  })
})

describe('marks on the axis', () => {
  it.each([
    [100, 4, [20, 40, 60, 80]],
    [1000, 5, [200, 400, 600, 800]],
    [2, 4, [1]],
    [1100, 1.7, [1000]],
    [1000, 0.5, []],
    [0.5, 4, []],
    [0, 4, []],
  ])('%d ms, room for %d', (ms, room, want) => expect(ticks(ms, room)).toEqual(want))
  it('read differently, and stand equally far apart, however long the axis is', () => {
    const next = random(5)
    for (let round = 0; round < 2000; round++) {
      const ms = (next(1000) + 1) * 10 ** (next(7) - 3)
      const marks = ticks(ms, 4)
      const said = marks.map((at) => duration(at * 1000, 'en'))
      expect(new Set(said).size, `${ms} ms: ${said.join(', ')}`).toBe(marks.length)
      expect(marks.length).toBeLessThanOrEqual(4)
      marks.forEach((at, index) => {
        expect(at).toBeCloseTo((marks[0] ?? 0) * (index + 1), 6)
        expect(at).toBeLessThan(ms)
      })
    }
  })
})

describe('a call is named by', () => {
  it.each([
    ['what went wrong', makeCall({ state: 'failed', class: 'inference' }), 'failed'],
    ['that it was refused', makeCall({ state: 'refused', class: 'write' }), 'refused'],
    ['its class', makeCall({ class: 'inference' }), 'model'],
    ['no class', makeCall({ class: 'constructor' }), 'other'],
  ])('%s', (_name, call, want) => expect(callKind(call)).toBe(want))
  it('its model, or its path without the host', () => {
    expect(callTitle(makeCall({ class: 'inference', model: 'm' }))).toBe('m')
    expect(callTitle(makeCall({ class: 'read', method: 'GET', target: 'https://h/a/b' }))).toBe(
      'GET /a/b',
    )
  })
  it('the message that the host makes of it', () => {
    expect(messageOf({ seq: 9, class: 'inference', state: 'ok' })).toBe('9-answer')
    expect(messageOf({ seq: 9, class: 'write', state: 'ok' })).toBe('9-request')
    expect(messageOf({ seq: 9, class: 'inference', state: 'refused' })).toBe('9-refusal')
  })
})
