import { describe, expect, it } from 'vitest'
import { makeFile } from '../../test/make'
import { chipsOf, flatten, folders, seek } from './diff'

const hunk = {
  oldStart: 3,
  oldLines: 2,
  newStart: 3,
  newLines: 2,
  section: 'func f()',
  lines: [
    { op: ' ' as const, text: 'same', noEol: false },
    { op: '-' as const, text: 'old', noEol: true },
    { op: '+' as const, text: 'new\r', noEol: false },
  ],
}

describe('rows of a diff', () => {
  const rows = flatten([makeFile({ path: 'a', hunks: [hunk] })], new Set())
  it('numbers both sides', () => {
    const lines = rows.flatMap((row) => (row.kind === 'line' ? [[row.op, row.old, row.new]] : []))
    expect(lines).toEqual([
      [' ', 3, 3],
      ['-', 4, null],
      ['+', null, 4],
    ])
  })
  it('has one key per row', () => {
    expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length)
  })
  it('keeps only the heading of a collapsed file', () => {
    expect(flatten([makeFile({ path: 'a', hunks: [hunk] })], new Set(['a']))).toHaveLength(1)
  })
  it('shows a binary as size and hash, never as lines', () => {
    const binary = flatten([makeFile({ kind: 'binary' })], new Set())
    expect(binary.map((row) => row.kind)).toEqual(['file', 'note'])
  })
  it('says where it was cut', () => {
    const cut = flatten([makeFile({ hunks: [hunk], truncated: true })], new Set())
    expect(cut.at(-1)).toMatchObject({ kind: 'note', note: { what: 'truncated' } })
  })
  it('seeks hunks and stays at the ends', () => {
    expect(seek(rows, 0, 1, 'hunk')).toBe(1)
    expect(seek(rows, 1, 1, 'hunk')).toBe(1)
    expect(seek(rows, 3, -1, 'file')).toBe(0)
  })
})

describe('chips', () => {
  const kinds = (over: Parameters<typeof makeFile>[0]) => chipsOf(makeFile(over)).map((c) => c.kind)
  it('tells a mode change', () => {
    expect(kinds({ oldMode: '100644', newMode: '100755' })).toEqual(['mode'])
  })
  it('tells a new executable', () => {
    expect(kinds({ status: 'added', oldMode: '', newMode: '100755' })).toEqual(['mode'])
  })
  it('tells line ends', () => expect(kinds({ hunks: [hunk] })).toEqual(['crlf', 'noeol']))
  it('give several warnings a row of their own, and count them', () => {
    const file = makeFile({ warnings: ['bidi', 'nul'] })
    expect(chipsOf(file)).toEqual([{ kind: 'warnings', count: 2 }])
    expect(flatten([file], new Set())[1]).toMatchObject({
      note: { what: 'warnings', codes: ['bidi', 'nul'] },
    })
  })
  it('passes the warnings of the host on', () => {
    expect(kinds({ kind: 'symlink', warnings: ['bidi'] })).toEqual(['warning', 'symlink'])
  })
})

it('files are listed by folder', () => {
  const got = folders([
    makeFile({ path: 'b/x' }),
    makeFile({ path: 'a' }),
    makeFile({ path: 'b/y' }),
  ])
  expect(got.map((f) => [f.path, f.files.map((file) => file.name)])).toEqual([
    ['', ['a']],
    ['b', ['x', 'y']],
  ])
})
