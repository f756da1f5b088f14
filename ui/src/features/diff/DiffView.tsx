import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { type DiffSet, flatten } from '@/domain/diff'
import { count } from '@/domain/time'
import { useViewed, viewedKey } from '@/store/viewed'
import { DiffRow, rowHeight } from './DiffRow'
import { FileTree } from './FileTree'
import type { More } from './NoteRow'
import { useDiffKeys } from './useDiffKeys'

/** One flat list of rows; only those in sight are in the document. */
export function DiffView({ set, more }: { set: DiffSet; more: More }) {
  const { t } = useTranslation()
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState(0)
  const ref = useRef<HTMLDivElement>(null)
  const rows = useMemo(() => flatten(set.files, folded), [set, folded])
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => ref.current,
    estimateSize: (index) => rowHeight(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 20,
  })
  const go = (row: number) => {
    setAt(row)
    list.scrollToIndex(row, { align: 'start' })
  }
  const toFile = (file: number) =>
    go(rows.findIndex((row) => row.kind === 'file' && row.file === file))
  const fold = (path: string) =>
    setFolded((old) => {
      const next = new Set(old)
      if (!next.delete(path)) next.add(path)
      return next
    })
  useDiffKeys({ set, rows, at, go, fold, scroller: ref })
  return (
    <div className="flex min-h-0 flex-1">
      <FileTree set={set} current={rows[at]?.file ?? 0} onFile={toFile} />
      <div className="flex min-w-0 flex-1 flex-col">
        <DiffBar set={set} />
        <div
          ref={ref}
          role="group"
          aria-label={t('diff.label')}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
          tabIndex={0}
          className="min-h-0 flex-1 overflow-auto bg-inset font-mono text-sm"
        >
          <div className="relative w-max min-w-full" style={{ height: list.getTotalSize() }}>
            {list.getVirtualItems().map((item) => {
              const row = rows[item.index]
              return row === undefined ? null : (
                <div
                  key={item.key}
                  className="absolute top-0 left-0 w-full"
                  style={{ height: item.size, transform: `translateY(${item.start}px)` }}
                >
                  <DiffRow
                    row={row}
                    set={set}
                    folded={folded}
                    onFold={fold}
                    more={more}
                    here={item.index === at}
                  />
                </div>
              )
            })}
          </div>
        </div>
      </div>
    </div>
  )
}

function DiffBar({ set }: { set: DiffSet }) {
  const { t, i18n } = useTranslation()
  const ticks = useViewed((state) => state.ticks)
  const viewed = set.files.filter((file) => ticks[viewedKey(file)]).length
  const n = (value: number) => count(value, i18n.language)
  return (
    <div className="flex items-center gap-3 overflow-hidden border-b whitespace-nowrap border-line px-3 py-1.5 text-sm text-t3">
      <span>{t('diff.files', { count: set.files.length, n: n(set.files.length) })}</span>
      <span className="font-mono">
        <span className="text-green">+{n(set.added)}</span>{' '}
        <span className="text-red">−{n(set.deleted)}</span>
      </span>
      <span>{t('diff.viewedCount', { n: n(viewed), m: n(set.files.length) })}</span>
      {set.truncated ? (
        <Chip tone="amber" why={t('diff.truncatedSet')}>
          {t('common.truncated')}
        </Chip>
      ) : null}
      <span className="ml-auto min-w-0 truncate text-xs text-t4">{t('diff.keys')}</span>
    </div>
  )
}
