import { type Context, type StageRef, type StageSpan, stageKey } from './auditCall'
import type { Message, Part } from './auditMessage'

// The tree Context → Task → Message → Part as flat rows: only those in sight
// are drawn, and each says its level and its place among its siblings.

/** Something that is read when its parent is opened. */
export type Loaded<T> =
  | { state: 'loading' }
  | { state: 'error'; error: Error }
  | { state: 'ready'; items: T[]; more: boolean; note: string }

type Place = { key: string; parent: string; level: number; pos: number; size: number }

export type TreeRow = Place &
  (
    | { kind: 'context'; open: boolean; context: Context }
    | { kind: 'stage'; open: boolean; stage: StageSpan }
    | { kind: 'message'; open: boolean; stage: StageRef; message: Message }
    | { kind: 'part'; stage: StageRef; message: Message; part: Part; index: number }
    | { kind: 'more' | 'loading' | 'empty' }
    | { kind: 'error'; error: Error }
    | { kind: 'note'; note: string }
  )

export const contextKey = (task: string): string => `c:${task}`
export const stageRowKey = (stage: StageRef): string => `s:${stageKey(stage)}`
export const messageKey = (stage: StageRef, id: string): string => `m:${stageKey(stage)}\n${id}`
export const partKey = (stage: StageRef, id: string, index: number): string =>
  `p:${stageKey(stage)}\n${id}\n${index}`

export type TreeSource = {
  contexts: Context[]
  more: boolean
  open: ReadonlySet<string>
  stages(task: string): Loaded<StageSpan>
  messages(stage: StageRef): Loaded<Message>
}

export function treeRows(source: TreeSource): TreeRow[] {
  const rows: TreeRow[] = []
  const size = source.more ? -1 : source.contexts.length
  source.contexts.forEach((context, index) => {
    const key = contextKey(context.task)
    const open = source.open.has(key)
    rows.push({ kind: 'context', key, parent: '', level: 1, pos: index + 1, size, open, context })
    if (open) stageRows(rows, source, key, source.stages(context.task))
  })
  if (source.more) rows.push(end('more', '', 1, source.contexts.length))
  return rows
}

function end(kind: 'more' | 'loading' | 'empty', parent: string, level: number, pos = 0): TreeRow {
  return { kind, key: `${kind}:${parent}`, parent, level, pos: pos + 1, size: -1 }
}

/** The rows of what is not there yet, or nothing where all is. */
function edges<T>(rows: TreeRow[], parent: string, level: number, list: Loaded<T>): void {
  const place = { parent, level, pos: 1, size: -1 }
  if (list.state === 'loading') rows.push(end('loading', parent, level))
  else if (list.state === 'error')
    rows.push({ kind: 'error', key: `error:${parent}`, error: list.error, ...place })
  else {
    if (list.more) rows.push(end('more', parent, level, list.items.length))
    if (!list.more && list.items.length === 0) rows.push(end('empty', parent, level))
    if (list.note !== '')
      rows.push({ kind: 'note', key: `note:${parent}`, note: list.note, ...place })
  }
}

function sizeOf<T>(list: Extract<Loaded<T>, { state: 'ready' }>): number {
  return list.more ? -1 : list.items.length
}

function stageRows(rows: TreeRow[], source: TreeSource, parent: string, list: Loaded<StageSpan>) {
  if (list.state === 'ready') {
    list.items.forEach((stage, index) => {
      const key = stageRowKey(stage)
      const open = source.open.has(key)
      const place = { key, parent, level: 2, pos: index + 1, size: sizeOf(list) }
      rows.push({ kind: 'stage', ...place, open, stage })
      if (open) messageRows(rows, source, stage, source.messages(stage))
    })
  }
  edges(rows, parent, 2, list)
}

function messageRows(
  rows: TreeRow[],
  source: TreeSource,
  stage: StageRef,
  list: Loaded<Message>,
): void {
  const parent = stageRowKey(stage)
  if (list.state === 'ready') {
    list.items.forEach((message, index) => {
      const key = messageKey(stage, message.id)
      const open = source.open.has(key)
      const place = { key, parent, level: 3, pos: index + 1, size: sizeOf(list) }
      rows.push({ kind: 'message', ...place, open, stage, message })
      if (!open) return
      message.parts.forEach((part, at) => {
        rows.push({
          kind: 'part',
          key: partKey(stage, message.id, at),
          parent: key,
          level: 4,
          pos: at + 1,
          size: message.parts.length,
          stage,
          message,
          part,
          index: at,
        })
      })
      if (message.parts.length === 0) rows.push(end('empty', key, 4))
    })
  }
  edges(rows, parent, 3, list)
}

export type TreeMove =
  | { do: 'go'; row: number }
  | { do: 'open' | 'close'; key: string }
  | { do: 'choose'; row: number }
  | { do: 'nothing' }

const page = 12

/** What a key means on a row of the tree; undefined: the key is not the tree's. */
export function treeKey(rows: readonly TreeRow[], at: number, key: string): TreeMove | undefined {
  const row = rows[at]
  const go = (to: number): TreeMove => ({
    do: 'go',
    row: Math.max(0, Math.min(to, rows.length - 1)),
  })
  switch (key) {
    case 'ArrowDown':
    case 'j':
      return go(at + 1)
    case 'ArrowUp':
    case 'k':
      return go(at - 1)
    case 'PageDown':
      return go(at + page)
    case 'PageUp':
      return go(at - page)
    case 'Home':
      return go(0)
    case 'End':
      return go(rows.length - 1)
    case 'ArrowRight':
    case 'l':
      if (row === undefined || !('open' in row)) return { do: 'nothing' }
      return row.open ? go(at + 1) : { do: 'open', key: row.key }
    case 'ArrowLeft':
    case 'h': {
      if (row === undefined) return { do: 'nothing' }
      if ('open' in row && row.open) return { do: 'close', key: row.key }
      const parent = rows.findIndex((one) => one.key === row.parent)
      return parent < 0 ? { do: 'nothing' } : go(parent)
    }
    case 'Enter':
    case ' ':
      return row === undefined ? { do: 'nothing' } : { do: 'choose', row: at }
    default:
      return undefined
  }
}
