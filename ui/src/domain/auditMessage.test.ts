import { describe, expect, it } from 'vitest'
import { makeAttempt, makeMessage, makePart } from '../../test/makeAudit'
import {
  type Message,
  messageTitle,
  type Part,
  partBody,
  partner,
  partTitle,
  readTokens,
  speaker,
} from './auditMessage'

describe('who speaks', () => {
  const result = makePart({ kind: 'tool-result' })
  const cases: [string, Partial<Message>][] = [
    ['agent', { role: 'agent' }],
    ['user', { role: 'user', parts: [makePart({ text: 'x' })] }],
    ['user', { role: 'user', parts: [] }],
    ['tool', { role: 'user', parts: [result] }],
    ['user', { role: 'user', parts: [result, makePart({ text: 'x' })] }],
    ['system', { role: 'user', kind: 'system' }],
    ['refusal', { kind: 'refusal' }],
  ]
  it.each(cases)('%s', (want, over) => expect(speaker(makeMessage(over))).toBe(want))
})

describe('a part in one line', () => {
  const cases: [string, Partial<Part>, string][] = [
    ['the first line of a text', { text: '\n  a\nb' }, 'a'],
    ['no more than a line', { text: 'x'.repeat(5000) }, 'x'.repeat(160)],
    [
      'a tool and its most telling argument',
      { kind: 'tool-use', name: 'edit', hasData: true, data: { old: 'x', path: 'a.go' } },
      'edit a.go',
    ],
    [
      'a tool whose input is no object',
      { kind: 'tool-use', name: 'edit', hasData: true, data: null },
      'edit',
    ],
    [
      'an argument that is no text',
      { kind: 'tool-use', name: 'n', hasData: true, data: { a: [1] } },
      'n [1]',
    ],
    [
      'names of tools',
      { kind: 'tools', hasData: true, data: [{ name: 'a' }, 'odd', { name: 'b' }] },
      'a, , b',
    ],
    ['a tool and what it gave', { kind: 'tool-result', name: 'ls', text: 'README' }, 'ls README'],
    ['a file', { kind: 'file', filename: 'a.png', raw: 'AA==' }, 'a.png'],
    ['nothing', {}, ''],
  ]
  it.each(cases)('%s', (_name, over, want) => expect(partTitle(makePart(over))).toBe(want))
  it('reads whole as text or as JSON', () => {
    expect(partBody(makePart({ text: 'a' }))).toBe('a')
    expect(partBody(makePart({ hasData: true, data: null }))).toBe('null')
    expect(partBody(makePart({ url: 'http://x' }))).toBe('http://x')
  })
})

describe('a message in one line', () => {
  it('is its words, else its first call', () => {
    const use = makePart({ kind: 'tool-use', name: 'ls' })
    expect(messageTitle(makeMessage({ parts: [use, makePart({ text: 'I look.' })] }))).toBe(
      'I look.',
    )
    expect(messageTitle(makeMessage({ parts: [use] }))).toBe('ls')
  })
  it('is why there are none, else where it went', () => {
    const of = (over: object) => messageTitle(makeMessage({ attempts: [makeAttempt(over)] }))
    expect(of({ gate: 'budget', reason: 'spent' })).toBe('budget')
    expect(of({ error: 'reset' })).toBe('reset')
    expect(of({ target: 'http://x' })).toBe('http://x')
    expect(messageTitle(makeMessage({}))).toBe('')
  })
})

it('a result belongs to the call with its id', () => {
  const use = makePart({ kind: 'tool-use', id: 'u' })
  const right = makePart({ kind: 'tool-result', id: 'u' })
  const parts = [makePart({ kind: 'tool-result', id: 'v' }), use, right]
  expect(partner(use, makeMessage({ parts }))).toBe(right)
  expect(partner(right, makeMessage({ parts }))).toBe(use)
  expect(partner(makePart({ id: 'u' }), makeMessage({ parts }))).toBeUndefined()
})

it('what a cache held was read as well', () => {
  expect(readTokens(makeAttempt({ input: 1, cacheRead: 2, cacheWrite: 4 }))).toBe(7)
})
