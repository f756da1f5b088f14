import { describe, expect, it } from 'vitest'
import { makeContext, makeMessage, makePart, makeStage } from '../../test/makeAudit'
import { random } from '../../test/random'
import {
  contextKey,
  type Loaded,
  messageKey,
  stageRowKey,
  type TreeSource,
  treeKey,
  treeRows,
} from './auditTree'

const stage = makeStage({})
const message = makeMessage({ parts: [makePart({ text: 'a' }), makePart({ kind: 'thinking' })] })
const ready = <T>(items: T[], more = false, note = ''): Loaded<T> => ({
  state: 'ready',
  items,
  more,
  note,
})

function source(over: Partial<TreeSource>): TreeSource {
  return {
    contexts: [makeContext({}), makeContext({ task: 't2' })],
    more: false,
    open: new Set(),
    stages: () => ready([stage]),
    messages: () => ready([message]),
    ...over,
  }
}

const whole = new Set([contextKey('t1'), stageRowKey(stage), messageKey(stage, message.id)])
const kinds = (over: Partial<TreeSource>) => treeRows(source(over)).map((row) => row.kind)

describe('rows of the tree', () => {
  it('are the tasks while nothing is open', () => {
    expect(kinds({})).toEqual(['context', 'context'])
  })
  it('go down to parts where all is open', () => {
    const rows = treeRows(source({ open: whole }))
    expect(rows.map((row) => [row.kind, row.level, row.pos, row.size])).toEqual([
      ['context', 1, 1, 2],
      ['stage', 2, 1, 1],
      ['message', 3, 1, 1],
      ['part', 4, 1, 2],
      ['part', 4, 2, 2],
      ['context', 1, 2, 2],
    ])
  })
  it('say what is not there yet, and what could not be read', () => {
    expect(kinds({ open: whole, stages: () => ({ state: 'loading' }) })).toContain('loading')
    const error = new Error('gone')
    expect(kinds({ open: whole, messages: () => ({ state: 'error', error }) })).toContain('error')
    expect(kinds({ open: whole, messages: () => ready([]) })).toContain('empty')
    expect(kinds({ open: whole, messages: () => ready([message], false, 'cut') })).toContain('note')
  })
  it('say that there is more, and then not how many', () => {
    const rows = treeRows(
      source({ more: true, open: whole, messages: () => ready([message], true) }),
    )
    expect(rows.filter((row) => row.kind === 'more').map((row) => row.level)).toEqual([3, 1])
    expect(rows.find((row) => row.kind === 'message')?.size).toBe(-1)
    expect(rows[0]?.size).toBe(-1)
  })
  it('have keys of their own, and a parent above them', () => {
    const next = random(5)
    for (let round = 0; round < 100; round++) {
      const contexts = Array.from({ length: next(6) }, (_, n) => makeContext({ task: `t${n}` }))
      const stages = (task: string) =>
        ready(Array.from({ length: next(3) }, (_, n) => makeStage({ task, stage: `s${n}` })))
      const open = new Set(contexts.filter(() => next(2) === 0).map((one) => contextKey(one.task)))
      const rows = treeRows(source({ contexts, stages, open, more: next(2) === 0 }))
      expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length)
      rows.forEach((row, index) => {
        const parent = rows.slice(0, index).find((one) => one.key === row.parent)
        expect(parent?.level ?? 0).toBe(row.level - 1)
      })
    }
  })
})

describe('keys of the tree', () => {
  const rows = treeRows(source({ open: whole }))
  const closed = treeRows(source({}))
  it.each([
    ['ArrowDown', 0, { do: 'go', row: 1 }],
    ['j', 5, { do: 'go', row: 5 }],
    ['k', 0, { do: 'go', row: 0 }],
    ['End', 0, { do: 'go', row: 5 }],
    ['ArrowRight', 0, { do: 'go', row: 1 }],
    ['ArrowRight', 3, { do: 'nothing' }],
    ['ArrowLeft', 3, { do: 'go', row: 2 }],
    ['ArrowLeft', 2, { do: 'close', key: messageKey(stage, message.id) }],
    ['Enter', 3, { do: 'choose', row: 3 }],
    ['x', 0, undefined],
  ])('%s on row %d', (key, at, want) => expect(treeKey(rows, at, key)).toEqual(want))
  it('open what is closed', () => {
    expect(treeKey(closed, 0, 'ArrowRight')).toEqual({ do: 'open', key: contextKey('t1') })
    expect(treeKey(closed, 0, 'ArrowLeft')).toEqual({ do: 'nothing' })
    expect(treeKey([], 0, 'Enter')).toEqual({ do: 'nothing' })
  })
})
