import { describe, expect, it } from 'vitest'
import { joinWords, shellWords, splitWords } from './argv'
import { reveal, stripEscapes } from './bidi'
import { callTitle, entries, type LogItem, pretty, prettyBody } from './log'
import { EventStreamParser } from './sse'
import { ago, bytes, elapsed, safeLanguage } from './time'

describe('invisible characters become visible', () => {
  it('names a right-to-left override', () => {
    expect(reveal('a\u202eb')).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'control', text: 'RLO' },
      { kind: 'text', text: 'b' },
    ])
  })
  it('leaves right-to-left words as they are', () => {
    expect(reveal('日本語 עברית')).toEqual([{ kind: 'text', text: '日本語 עברית' }])
  })
  it('keeps tabs and line ends as text', () => {
    expect(reveal('\ta\n')).toEqual([{ kind: 'text', text: '\ta\n' }])
  })
  it('leaves no control character in a text piece', () => {
    const all = Array.from({ length: 0x2100 }, (_, code) => String.fromCodePoint(code)).join('')
    const text = reveal(all)
      .filter((piece) => piece.kind === 'text')
      .map((piece) => piece.text)
      .join('')
    expect(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(text)).toBe(false)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that none is left is the claim
    expect(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(text)).toBe(false)
  })
})

describe('terminal sequences are taken out', () => {
  const cases = [
    ['colour', '\u001b[31mred\u001b[0m', 'red'],
    ['a title', '\u001b]0;owned\u0007text', 'text'],
    ['a hyperlink', '\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['a string without an end, up to its line', '\u001b]0;x\nkept', '\nkept'],
  ] as const
  it.each(cases)('%s', (_name, text, want) => expect(stripEscapes(text)).toBe(want))
})

describe('argv is words, not a shell', () => {
  const cases = [
    ['plain words', 'go test ./...', ['go', 'test', './...']],
    ['quotes group', `a "b c" 'd "e'`, ['a', 'b c', 'd "e']],
    ['an empty word', `a ''`, ['a', '']],
    ['a backslash', 'a\\ b', ['a b']],
    ['nothing expands', 'echo $HOME *', ['echo', '$HOME', '*']],
  ] as const
  it.each(cases)('%s', (_name, text, want) => {
    expect(splitWords(text)).toEqual({ ok: true, words: want })
    expect(splitWords(joinWords(want))).toEqual({ ok: true, words: want })
  })
  it('refuses an open quote', () => expect(splitWords('a "b').ok).toBe(false))
  it('points at operators', () => expect(shellWords(['a', '&&', 'b'])).toEqual(['&&']))
})

describe('the log', () => {
  const item = (over: Partial<LogItem>): LogItem => ({
    seq: 1,
    time: new Date(0),
    stage: 's',
    type: 'text',
    turn: 1,
    text: '',
    tool: '',
    callId: '',
    input: '',
    error: false,
    code: 0,
    cut: false,
    cause: '',
    ...over,
  })
  it('joins a result with its call', () => {
    const call = item({ type: 'tool_use', callId: 'c', tool: 'read_file' })
    const result = item({ seq: 2, type: 'tool_result', callId: 'c', text: 'x' })
    expect(entries([call, result])).toEqual([{ kind: 'call', key: 1, call, result }])
  })
  it('shows a result nobody asked for', () => {
    expect(entries([item({ type: 'tool_result', text: 'x' })])).toMatchObject([{ kind: 'output' }])
  })
  it('joins chunks of output and treats unknown types as output', () => {
    const out = entries([item({ type: 'output', text: 'a' }), item({ type: 'output', text: 'b' })])
    expect(out).toMatchObject([{ kind: 'output', text: 'ab' }])
    expect(entries([item({ type: 'evil' })])).toMatchObject([{ kind: 'output' }])
  })
  it('titles a call by its path', () => {
    expect(callTitle('{"content":"x","path":"a/b"}')).toBe('a/b')
    expect(callTitle('nonsense')).toBe('')
  })
  it('indents JSON and event streams only', () => {
    expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}')
    expect(prettyBody('event: x\ndata: {"a":1}\n')).toBe('event: x\ndata: {\n  "a": 1\n}\n')
    expect(prettyBody('<b>')).toBe('<b>')
  })
})

describe('an event stream cut anywhere gives the same events', () => {
  const stream = ': hi\n\nid: 7\nevent: task\ndata: {"a":\ndata: 1}\n\r\ndata: x\r\n\r\n'
  it.each(Array.from({ length: stream.length }, (_, at) => at))('cut at %i', (at) => {
    const parser = new EventStreamParser()
    const got = [...parser.feed(stream.slice(0, at)), ...parser.feed(stream.slice(at))]
    expect(got).toEqual([
      { id: '7', event: 'task', data: '{"a":\n1}' },
      { id: '7', event: '', data: 'x' },
    ])
  })
})

describe('numbers and times', () => {
  const now = new Date('2026-01-02T00:00:00Z')
  it('says how long ago', () => {
    expect(ago(new Date('2026-01-01T23:55:00Z'), now, 'en')).toContain('5')
    expect(ago(now, now, 'en')).toBe('now')
  })
  it('counts up and never below zero', () => {
    expect(elapsed(now, new Date(now.getTime() + 65_000))).toBe('1:05')
    expect(elapsed(now, new Date(now.getTime() - 5_000))).toBe('0 s')
  })
  it('scales bytes', () => expect(bytes(1536, 'en')).toBe('1.5 kB'))
  it('does not trust the language of a web view', () => {
    expect(safeLanguage('C')).toBe('en')
    expect(safeLanguage(undefined)).not.toBe('')
  })
})
