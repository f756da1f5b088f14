import { describe, expect, it } from 'vitest'
import { pick, random } from '../../test/random'
import {
  type AuditFilter,
  filterFields,
  formatFilter,
  isEmpty,
  moment,
  noFilter,
  outsideCalls,
  parseFilter,
  toQuery,
  wrongFields,
} from './auditFilter'

const now = new Date('2026-03-04T12:00:30Z')

describe('the filter is read as it is typed', () => {
  const cases: [string, string, Partial<AuditFilter>][] = [
    ['nothing', '', {}],
    ['words', 'push  main', { q: 'push main' }],
    [
      'fields and words in any order',
      'push kind:refusal main agent:solo',
      { kind: 'refusal', agent: 'solo', q: 'push main' },
    ],
    ['the last of a field holds', 'task:a task:b', { task: 'b' }],
    ['state is another word for status', 'state:error', { status: 'error' }],
    ['an unknown field is a word', 'odd:word', { q: 'odd:word' }],
    ['quotes group a value', 'agent:"my agent" x', { agent: 'my agent', q: 'x' }],
    ['quotes make a field a word', '"kind:refusal"', { q: 'kind:refusal' }],
    ['a backslash takes the next sign as it is', 'agent:"a\\"b\\\\"', { agent: 'a"b\\' }],
    ['a quote that is not closed ends with the text', 'agent:"my agent', { agent: 'my agent' }],
    ['an empty value restricts nothing', 'kind:', { q: 'kind:' }],
    ['an address stays whole', 'http://x.y/z', { q: 'http://x.y/z' }],
  ]
  it.each(cases)('%s', (_name, text, want) => {
    expect(parseFilter(text)).toEqual({ ...noFilter, ...want })
  })
})

describe('whatever a filter is, its text means the same', () => {
  const signs = ['a', 'Z', '9', ' ', '  ', ':', '"', '\\', '-', '日', 'kind:', 'task:', '\t', "'"]
  it('for 2,000 of them', () => {
    const next = random(7)
    const text = (n: number) => Array.from({ length: n }, () => pick(next, signs)).join('')
    for (let round = 0; round < 2000; round++) {
      const filter = { ...noFilter, q: text(next(6)) }
      for (const name of filterFields) if (next(4) === 0) filter[name] = text(next(5))
      expect(parseFilter(formatFilter(filter)), formatFilter(filter)).toEqual(filter)
    }
  })
  it('and any text settles after one round', () => {
    const next = random(11)
    for (let round = 0; round < 2000; round++) {
      const text = Array.from({ length: next(10) }, () => pick(next, signs)).join('')
      const once = formatFilter(parseFilter(text))
      expect(formatFilter(parseFilter(once))).toBe(once)
    }
  })
})

describe('a time is a moment', () => {
  const cases: [string, string | null][] = [
    ['30m', '2026-03-04T11:30:00.000Z'],
    ['1h', '2026-03-04T11:00:00.000Z'],
    ['2d', '2026-03-02T12:00:00.000Z'],
    ['1w', '2026-02-25T12:00:00.000Z'],
    ['2026-03-01T10:00Z', '2026-03-01T10:00:00.000Z'],
    ['yesterday', null],
    ['2026-13-45', null],
    ['1y', null],
    ['', null],
  ]
  it.each(cases)('%s', (text, want) => {
    expect(moment(text, now)?.toISOString() ?? null).toBe(want)
  })
  it('a date is its beginning here', () => {
    expect(moment('2026-03-01', now)).toEqual(new Date(2026, 2, 1))
  })
})

describe('the host is asked for what can be meant', () => {
  it('in its words', () => {
    const filter = parseFilter('kind:refusal status:error task:t since:1h "some words"')
    expect(toQuery(filter, now)).toEqual({
      kind: 'refusal',
      state: 'bad',
      task: 't',
      from: '2026-03-04T11:00:00.000Z',
      q: 'some words',
    })
  })
  it.each([
    ['status:404', { status: '404' }],
    ['status:5xx', { status: '5xx' }],
    ['status:open', { state: 'open' }],
    ['status:constructor', {}],
    ['kind:odd', {}],
    ['since:soon', {}],
  ])('%s', (text, want) => expect(toQuery(parseFilter(text), now)).toEqual(want))
  it('the same twice within a minute', () => {
    const filter = parseFilter('since:1h')
    expect(toQuery(filter, new Date('2026-03-04T12:00:59Z'))).toEqual(toQuery(filter, now))
  })
  it('and what cannot be meant is named', () => {
    const text = 'kind:odd status:9999 part:A_B since:soon until:2026-01-01 agent:solo'
    expect(wrongFields(parseFilter(text))).toEqual(['kind', 'status', 'part', 'since'])
  })
})

it('knows kinds that belong to no call', () => {
  expect(outsideCalls(parseFilter('kind:merge'))).toBe(true)
  expect(outsideCalls(parseFilter('kind:refusal'))).toBe(false)
  expect(outsideCalls(parseFilter('kind:odd'))).toBe(false)
  expect(isEmpty(noFilter)).toBe(true)
  expect(isEmpty(parseFilter('x'))).toBe(false)
})
