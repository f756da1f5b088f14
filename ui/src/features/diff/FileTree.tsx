import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type DiffSet, folders } from '@/domain/diff'
import { type TreeMove, type TreeRow, treeKey, treeRows } from '@/domain/tree'
import { TreeItem } from './TreeItem'

type Props = { set: DiffSet; current: number; onFile(file: number): void }

/** A tree of which only the rows in sight, and the active one, are drawn. */
export function FileTree({ set, current, onFile }: Props) {
  const { t } = useTranslation()
  const id = useId()
  const ref = useRef<HTMLDivElement>(null)
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState(0)
  const tree = useMemo(() => folders(set.files), [set])
  const rows = useMemo(() => treeRows(tree, closed), [tree, closed])
  const active = Math.min(at, rows.length - 1)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => ref.current,
    estimateSize: () => 24,
    overscan: 10,
    // A screen reader follows the active row: it must exist.
    rangeExtractor: (range) => [...new Set([active, ...defaultRangeExtractor(range)])],
  })
  const shown = rows.findIndex((row) => row.kind === 'file' && row.file === current)
  useEffect(() => {
    if (shown < 0) return
    setAt(shown)
    list.scrollToIndex(shown)
  }, [shown, list])
  const act = (move: TreeMove) => {
    switch (move.do) {
      case 'go':
        setAt(move.row)
        list.scrollToIndex(move.row)
        break
      case 'fold':
        setClosed(toggled(closed, move.path))
        break
      case 'choose':
        onFile(move.file)
        break
      case 'nothing':
        break
    }
  }
  const click = (row: TreeRow, index: number) => {
    setAt(index)
    act(row.kind === 'file' ? { do: 'choose', file: row.file } : { do: 'fold', path: row.path })
  }
  return (
    <div
      ref={ref}
      role="tree"
      aria-label={t('diff.tree')}
      aria-activedescendant={`${id}${active}`}
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return
        const move = treeKey(rows, active, event.key)
        if (move === undefined) return
        event.preventDefault()
        act(move)
      }}
      className="group w-56 shrink-0 overflow-auto border-r border-line py-2"
    >
      <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const row = rows[item.index]
          return row === undefined ? null : (
            <div
              key={item.key}
              role="presentation"
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <TreeItem
                id={`${id}${item.index}`}
                row={row}
                file={row.kind === 'file' ? set.files[row.file] : undefined}
                active={item.index === active}
                current={row.kind === 'file' && row.file === current}
                onClick={() => click(row, item.index)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

function toggled(set: ReadonlySet<string>, one: string): ReadonlySet<string> {
  const next = new Set(set)
  if (!next.delete(one)) next.add(one)
  return next
}
