import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import type { DiffSet, Row } from '@/domain/diff'
import { FileRow } from './FileRow'
import { type More, NoteRow } from './NoteRow'

/** Heights are fixed per kind of row: the list never measures. */
export function rowHeight(row: Row | undefined): number {
  switch (row?.kind) {
    case 'file':
      return 34
    case 'note':
      return 28
    default:
      return 20
  }
}

type Props = {
  row: Row
  set: DiffSet
  folded: ReadonlySet<string>
  onFold(path: string): void
  here: boolean
  more: More
}

export function DiffRow({ row, set, folded, onFold, here, more }: Props) {
  const file = set.files[row.file]
  if (file === undefined) return null
  switch (row.kind) {
    case 'file':
      return <FileRow file={file} folded={folded.has(file.path)} onFold={onFold} here={here} />
    case 'note':
      return <NoteRow note={row.note} more={more} />
    case 'hunk':
      return (
        <div
          className={cn(
            'flex h-5 items-center gap-2 bg-panel px-3 text-xs whitespace-pre text-cyan',
            here && 'border-l-2 border-blue',
          )}
        >
          @@ −{row.hunk.oldStart},{row.hunk.oldLines} +{row.hunk.newStart},{row.hunk.newLines} @@
          <span className="text-t3">
            <Safe text={row.hunk.section} />
          </span>
        </div>
      )
    case 'line':
      return <LineRow row={row} />
  }
}

const tones = { ' ': '', '+': 'bg-green-soft', '-': 'bg-red-soft' }
const signs = { ' ': ' ', '+': '+', '-': '−' }

function LineRow({ row }: { row: Extract<Row, { kind: 'line' }> }) {
  return (
    <div className={cn('flex h-5 items-center leading-5', tones[row.op])}>
      <span className="w-12 shrink-0 pr-2 text-right text-xs text-t2 select-none">{row.old}</span>
      <span className="w-12 shrink-0 pr-2 text-right text-xs text-t2 select-none">{row.new}</span>
      <span
        className={cn('w-4 shrink-0', row.op === '+' && 'text-green', row.op === '-' && 'text-red')}
      >
        {signs[row.op]}
      </span>
      <span className="pr-4 whitespace-pre [tab-size:4]" dir="ltr">
        <Safe text={row.text} />
      </span>
      {row.cut ? <Cut /> : null}
      {row.noEol ? <NoEol /> : null}
    </div>
  )
}

function Cut() {
  const { t } = useTranslation()
  return <span className="shrink-0 pr-2 font-sans text-xs text-amber">{t('diff.lineCut')}</span>
}

function NoEol() {
  const { t } = useTranslation()
  return (
    <span
      role="img"
      aria-label={t('diff.noeolLine')}
      title={t('diff.noeolLine')}
      className="text-amber"
    >
      ⏎̸
    </span>
  )
}
