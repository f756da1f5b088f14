import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useEffect, useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type TreeRow, treeKey } from '@/domain/auditTree'
import { isTyping } from '@/domain/keyboard'
import { TreeLine } from './TreeLine'
import { useReveal } from './useRows'
import type { Tree } from './useTree'

const rowSize = 28

type Props = { tree: Tree; onChoose(row: TreeRow): void; onScrolled(away: boolean): void }

/** The focus stays on the tree, which names its active row. */
export function TraceTree({ tree, onChoose, onScrolled }: Props) {
  const { t } = useTranslation()
  const id = useId()
  const ref = useRef<HTMLDivElement>(null)
  const { rows, selected } = tree
  const [cursor, setCursor] = useState(selected)
  const at = Math.max(
    0,
    rows.findIndex((row) => row.key === cursor),
  )
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => ref.current,
    estimateSize: () => rowSize,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 10,
    // A screen reader follows the active row: it must exist.
    rangeExtractor: (range) => [...new Set([at, ...defaultRangeExtractor(range)])],
  })
  const there = rows.findIndex((row) => row.key === selected)
  useReveal(there, selected, (index) => {
    setCursor(selected)
    list.scrollToIndex(index, { align: 'center' })
  })
  const items = list.getVirtualItems()
  useMore(
    items.map((item) => rows[item.index]),
    tree,
  )
  const choose = (row: TreeRow, index: number) => {
    setCursor(row.key)
    if (row.kind === 'more') tree.more(row)
    else onChoose(row)
    list.scrollToIndex(index)
  }
  const onKey = (key: string): boolean => {
    const move = treeKey(rows, at, key)
    if (move === undefined) return false
    const row = 'row' in move ? rows[move.row] : undefined
    if (move.do === 'open' || move.do === 'close') tree.toggle(move.key, move.do === 'open')
    else if (move.do === 'choose' && row !== undefined) choose(row, move.row)
    else if (move.do === 'go' && row !== undefined) {
      setCursor(row.key)
      list.scrollToIndex(move.row)
    }
    return true
  }
  useKeysFromAnywhere(ref)
  return (
    <div
      ref={ref}
      role="tree"
      data-trace-tree
      aria-label={t('trace.tree')}
      aria-activedescendant={rows.length > 0 ? `${id}${at}` : undefined}
      tabIndex={0}
      onScroll={(event) => onScrolled(event.currentTarget.scrollTop > rowSize)}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return
        if (onKey(event.key)) event.preventDefault()
      }}
      className="group min-h-0 flex-1 focus-visible:-outline-offset-2 overflow-x-hidden overflow-y-auto"
    >
      <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index]
          return row === undefined ? null : (
            <div
              key={item.key}
              role="presentation"
              className="absolute inset-x-0 top-0"
              style={{ height: rowSize, transform: `translateY(${item.start}px)` }}
            >
              <TreeLine
                id={`${id}${item.index}`}
                row={row}
                active={item.index === at}
                selected={row.key === selected}
                onChoose={() => choose(row, item.index)}
                onToggle={(open) => tree.toggle(row.key, open)}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** J and K move in the tree even before it has the focus, as on the board. */
function useKeysFromAnywhere(ref: RefObject<HTMLDivElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (event.key !== 'j' && event.key !== 'k') return
      const within = event.target instanceof Element ? event.target : null
      if (isTyping(event.target) || within?.closest('[role=listbox], [role=menu]') != null) return
      if (ref.current?.contains(within)) return
      ref.current?.focus()
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [ref])
}

/** A row that says there is more brings it when it comes into sight, once. */
function useMore(rows: (TreeRow | undefined)[], tree: Tree): void {
  const waiting = rows.find((row) => row?.kind === 'more')
  const asked = useRef('')
  useEffect(() => {
    const key = waiting === undefined ? '' : `${waiting.key} ${waiting.pos}`
    if (waiting === undefined || asked.current === key) return
    asked.current = key
    tree.more(waiting)
  })
}
