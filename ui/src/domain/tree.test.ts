import { describe, expect, it } from 'vitest'
import { makeFile } from '../../test/make'
import { folders } from './diff'
import { treeKey, treeRows } from './tree'

const all = folders(['a', 'b/x', 'b/y', 'c/z'].map((path) => makeFile({ path })))
const rows = treeRows(all, new Set())

describe('rows of the tree', () => {
  it('say their place among their siblings', () => {
    expect(rows.map((row) => [row.kind, row.pos, row.size])).toEqual([
      ['folder', 1, 3],
      ['file', 1, 1],
      ['folder', 2, 3],
      ['file', 1, 2],
      ['file', 2, 2],
      ['folder', 3, 3],
      ['file', 1, 1],
    ])
  })
  it('leave out what a closed folder holds', () => {
    expect(treeRows(all, new Set(['b'])).map((row) => row.kind)).toEqual([
      'folder',
      'file',
      'folder',
      'folder',
      'file',
    ])
  })
})

describe('keys of the tree', () => {
  it.each([
    ['ArrowDown', 0, { do: 'go', row: 1 }],
    ['ArrowDown', 6, { do: 'go', row: 6 }],
    ['ArrowUp', 0, { do: 'go', row: 0 }],
    ['Home', 4, { do: 'go', row: 0 }],
    ['End', 0, { do: 'go', row: 6 }],
    ['ArrowLeft', 4, { do: 'go', row: 2 }],
    ['ArrowLeft', 2, { do: 'fold', path: 'b' }],
    ['ArrowRight', 2, { do: 'go', row: 3 }],
    ['ArrowRight', 3, { do: 'nothing' }],
    ['Enter', 4, { do: 'choose', file: 2 }],
    [' ', 2, { do: 'fold', path: 'b' }],
    ['j', 2, undefined],
  ])('%s on row %i', (key, at, want) => expect(treeKey(rows, at, key)).toEqual(want))
})
