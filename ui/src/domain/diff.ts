// The diff as the host parsed it, and the flat list of rows a virtual list
// shows. A row is a value: the view computes nothing.

type Line = { op: ' ' | '+' | '-'; text: string; noEol: boolean; cut?: boolean }

export type Hunk = {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  section: string
  lines: Line[]
}

export const fileStatuses = [
  'added',
  'deleted',
  'modified',
  'renamed',
  'copied',
  'type-changed',
] as const
export type FileStatus = (typeof fileStatuses)[number]

export const fileKinds = ['text', 'binary', 'symlink', 'submodule', 'lfs'] as const
type FileKind = (typeof fileKinds)[number]

/** What the host warns of beside a file, and what the gate adds to it. */
export const warningCodes = [
  'name-bidi',
  'name-hidden',
  'name-mixed-script',
  'name-not-utf8',
  'bidi',
  'nul',
  'not-utf8',
  'control',
  'name-twin',
  'attributes-driver',
  'submodules',
  'symlink-outside',
  'lfs-not-pointer',
  'gate-file',
] as const

export type DiffFile = {
  path: string
  oldPath: string
  status: FileStatus
  kind: FileKind
  oldMode: string
  newMode: string
  oldOid: string
  newOid: string
  oldSize: number
  newSize: number
  similarity: number
  added: number
  deleted: number
  hunks: Hunk[]
  truncated: boolean
  warnings: string[]
}

export type DiffSet = {
  from: string
  to: string
  files: DiffFile[]
  truncated: boolean
  added: number
  deleted: number
}

export type Note =
  | { what: 'binary'; oldSize: number; newSize: number; oldOid: string; newOid: string }
  | { what: 'empty' }
  | { what: 'truncated' }
  | { what: 'warnings'; codes: string[] }

export type Row =
  | { kind: 'file'; key: string; file: number }
  | { kind: 'note'; key: string; file: number; note: Note }
  | { kind: 'hunk'; key: string; file: number; hunk: Hunk }
  | {
      kind: 'line'
      key: string
      file: number
      op: ' ' | '+' | '-'
      old: number | null
      new: number | null
      text: string
      noEol: boolean
      cut: boolean
    }

/** One row per line of every file whose index is not collapsed. */
export function flatten(files: readonly DiffFile[], collapsed: ReadonlySet<string>): Row[] {
  const rows: Row[] = []
  files.forEach((file, index) => {
    rows.push({ kind: 'file', key: `f${index}`, file: index })
    if (collapsed.has(file.path)) return
    if (file.warnings.length > 1) {
      const note: Note = { what: 'warnings', codes: file.warnings }
      rows.push({ kind: 'note', key: `w${index}`, file: index, note })
    }
    for (const note of notesOf(file)) {
      rows.push({ kind: 'note', key: `n${index}.${note.what}`, file: index, note })
    }
    file.hunks.forEach((hunk, at) => {
      rows.push({ kind: 'hunk', key: `h${index}.${at}`, file: index, hunk })
      pushLines(rows, index, at, hunk)
    })
    if (file.truncated) {
      rows.push({ kind: 'note', key: `n${index}.cut`, file: index, note: { what: 'truncated' } })
    }
  })
  return rows
}

function notesOf(file: DiffFile): Note[] {
  if (file.kind === 'binary' || file.kind === 'lfs') {
    const { oldSize, newSize, oldOid, newOid } = file
    return [{ what: 'binary', oldSize, newSize, oldOid, newOid }]
  }
  return file.hunks.length === 0 && !file.truncated ? [{ what: 'empty' }] : []
}

function pushLines(rows: Row[], file: number, at: number, hunk: Hunk): void {
  let old = hunk.oldStart
  let next = hunk.newStart
  hunk.lines.forEach((line, index) => {
    rows.push({
      kind: 'line',
      key: `l${file}.${at}.${index}`,
      file,
      op: line.op,
      old: line.op === '+' ? null : old++,
      new: line.op === '-' ? null : next++,
      text: line.text,
      noEol: line.noEol,
      cut: line.cut ?? false,
    })
  })
}

export type Chip =
  | { kind: 'mode'; from: string; to: string }
  | { kind: 'renamed'; similarity: number }
  | { kind: 'symlink' | 'submodule' | 'lfs' | 'crlf' | 'noeol' | 'truncated' }
  | { kind: 'warning'; code: string }
  | { kind: 'warnings'; count: number }

/** What a person must know about a file before reading its lines. */
export function chipsOf(file: DiffFile): Chip[] {
  const chips: Chip[] = []
  // Warnings come first: what does not fit is cut at the end. Several have a
  // row of their own below, where there is room for their words.
  const [code, ...more] = file.warnings
  if (more.length > 0) chips.push({ kind: 'warnings', count: file.warnings.length })
  else if (code !== undefined) chips.push({ kind: 'warning', code })
  const both = file.status !== 'added' && file.status !== 'deleted'
  if (both && file.oldMode !== file.newMode) {
    chips.push({ kind: 'mode', from: file.oldMode, to: file.newMode })
  } else if (file.newMode === '100755' && file.status === 'added') {
    chips.push({ kind: 'mode', from: '', to: file.newMode })
  }
  if (file.status === 'renamed' || file.status === 'copied') {
    chips.push({ kind: 'renamed', similarity: file.similarity })
  }
  if (file.kind === 'symlink' || file.kind === 'submodule' || file.kind === 'lfs') {
    chips.push({ kind: file.kind })
  }
  const lines = file.hunks.flatMap((hunk) => hunk.lines)
  if (lines.some((line) => line.text.endsWith('\r'))) chips.push({ kind: 'crlf' })
  if (lines.some((line) => line.noEol)) chips.push({ kind: 'noeol' })
  if (file.truncated) chips.push({ kind: 'truncated' })
  return chips
}

/** Files that decide what the gate checks carry it as a warning. */
export function withGates(set: DiffSet, changed: readonly string[]): DiffSet {
  if (changed.length === 0) return set
  const gates = new Set(changed)
  const files = set.files.map((file) =>
    gates.has(file.path) || gates.has(file.oldPath)
      ? { ...file, warnings: [...file.warnings, 'gate-file'] }
      : file,
  )
  return { ...set, files }
}

/** How many lines of a file the host shows unasked, and at most. */
const unasked = 20_000
const atMost = 1_000_000

/** The next larger number of lines to ask for; null: there is no more. */
export function askMore(lines: number | undefined): number | null {
  const now = lines ?? unasked
  return now >= atMost ? null : Math.min(now * 10, atMost)
}

/** The next row of one kind after or before a row; the same row at the ends. */
export function seek(
  rows: readonly Row[],
  from: number,
  by: 1 | -1,
  kind: 'file' | 'hunk',
): number {
  for (let at = from + by; at >= 0 && at < rows.length; at += by) {
    if (rows[at]?.kind === kind) return at
  }
  return from
}

export type Folder = { path: string; files: { index: number; name: string }[] }

/** Changed files by folder, in the order of the diff. */
export function folders(files: readonly DiffFile[]): Folder[] {
  const out = new Map<string, Folder>()
  files.forEach((file, index) => {
    const slash = file.path.lastIndexOf('/')
    const path = slash < 0 ? '' : file.path.slice(0, slash)
    const folder = out.get(path) ?? { path, files: [] }
    folder.files.push({ index, name: file.path.slice(slash + 1) })
    out.set(path, folder)
  })
  return [...out.values()].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}
