import type { Folder } from './diff'

// The list of changed files as rows of a tree of two levels. Rows are values:
// only those in sight are drawn, and each says its place among its siblings.

type Place = { pos: number; size: number; parent: number }

export type TreeRow =
  | ({ kind: 'folder'; path: string; open: boolean } & Place)
  | ({ kind: 'file'; file: number; name: string } & Place)

export function treeRows(folders: readonly Folder[], closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = []
  folders.forEach((folder, at) => {
    const parent = rows.length
    const open = !closed.has(folder.path)
    const place = { pos: at + 1, size: folders.length, parent }
    rows.push({ kind: 'folder', path: folder.path, open, ...place })
    if (!open) return
    folder.files.forEach(({ index, name }, pos) => {
      rows.push({
        kind: 'file',
        file: index,
        name,
        pos: pos + 1,
        size: folder.files.length,
        parent,
      })
    })
  })
  return rows
}

export type TreeMove =
  | { do: 'go'; row: number }
  | { do: 'fold'; path: string }
  | { do: 'choose'; file: number }
  | { do: 'nothing' }

/** What a key means on a row of the tree; undefined: the key is not the tree's. */
export function treeKey(rows: readonly TreeRow[], at: number, key: string): TreeMove | undefined {
  const row = rows[at]
  const go = (to: number): TreeMove => ({
    do: 'go',
    row: Math.min(Math.max(to, 0), rows.length - 1),
  })
  switch (key) {
    case 'ArrowDown':
      return go(at + 1)
    case 'ArrowUp':
      return go(at - 1)
    case 'Home':
      return go(0)
    case 'End':
      return go(rows.length - 1)
    case 'ArrowRight':
      if (row?.kind !== 'folder') return { do: 'nothing' }
      return row.open ? go(at + 1) : { do: 'fold', path: row.path }
    case 'ArrowLeft':
      if (row === undefined) return { do: 'nothing' }
      if (row.kind === 'file') return go(row.parent)
      return row.open ? { do: 'fold', path: row.path } : { do: 'nothing' }
    case 'Enter':
    case ' ':
      if (row === undefined) return { do: 'nothing' }
      return row.kind === 'file' ? { do: 'choose', file: row.file } : { do: 'fold', path: row.path }
    default:
      return undefined
  }
}
