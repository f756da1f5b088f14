import { type Column, columns, type Task, type TaskId } from './model'

export type Direction = 'next' | 'previous' | 'left' | 'right'

/**
 * The card that the keyboard goes to. Up and down walk one column and go on
 * into the neighbouring one; left and right keep the height as far as the
 * other column reaches, and skip empty columns.
 */
export function step(
  board: Record<Column, readonly Task[]>,
  from: TaskId | null,
  direction: Direction,
): TaskId | null {
  const flat = columns.flatMap((column) => board[column])
  const first = flat[0]?.id ?? null
  const at = flat.findIndex((task) => task.id === from)
  if (from === null || at < 0) return first
  switch (direction) {
    case 'next':
      return flat[Math.min(at + 1, flat.length - 1)]?.id ?? first
    case 'previous':
      return flat[Math.max(at - 1, 0)]?.id ?? first
    case 'left':
      return sideways(board, from, -1)
    case 'right':
      return sideways(board, from, 1)
  }
}

function sideways(board: Record<Column, readonly Task[]>, from: TaskId, by: number): TaskId {
  const here = columns.findIndex((column) => board[column].some((task) => task.id === from))
  const column = columns[here]
  if (column === undefined) return from
  const row = board[column].findIndex((task) => task.id === from)
  for (let next = here + by; next >= 0 && next < columns.length; next += by) {
    const name = columns[next]
    const list = name === undefined ? [] : board[name]
    const target = list[Math.min(row, list.length - 1)]
    if (target !== undefined) return target.id
  }
  return from
}

/** A key is for the board only when the person is not writing or in a dialog. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false
  return target.closest('input, textarea, select, [contenteditable="true"], dialog') !== null
}
