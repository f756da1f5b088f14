import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAuditRows } from '@/api/auditRows'
import { Measured } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { AuditRow } from '@/domain/audit'
import { type AuditFilter, isEmpty } from '@/domain/auditFilter'
import { counted } from '@/domain/auditMetrics'
import { count } from '@/domain/time'
import { AuditLine } from './AuditLine'
import { NewRows, useTail } from './Tail'
import { stepKeys, useEnd, useReveal } from './useRows'

type Props = {
  filter: AuditFilter
  selected: number
  live: boolean
  onSelect(seq: number): void
}

export function AuditList({ filter, selected, live, onSelect }: Props) {
  const { t } = useTranslation()
  const audit = useAuditRows(filter)
  const [away, setAway] = useState(false)
  const tail = useTail(live, away)
  const rows = useMemo(() => audit.data?.pages.flatMap((page) => page.rows) ?? [], [audit.data])
  if (audit.isError && audit.data === undefined)
    return <ErrorNote error={audit.error} onRetry={() => void audit.refetch()} />
  if (audit.isPending) return <SkeletonLines lines={14} />
  const first = audit.data.pages[0]
  if (rows.length === 0) {
    return isEmpty(filter) ? (
      <Empty title={t('audit.none')} help={t('audit.noneHelp')} />
    ) : (
      <Empty title={t('audit.noMatch')} help={t('trace.noMatchHelp')} />
    )
  }
  return (
    <div className="relative flex min-h-0 min-w-0 flex-1 flex-col">
      <Counted
        count={first?.count ?? -1}
        total={first?.total ?? 0}
        problem={first?.problem ?? ''}
      />
      <NewRows tail={tail} paused={live && away} />
      <Rows
        rows={rows}
        selected={selected}
        onSelect={onSelect}
        onScrolled={setAway}
        onEnd={() => {
          if (audit.hasNextPage && !audit.isFetching) void audit.fetchNextPage()
        }}
      />
    </div>
  )
}

type CountedProps = { count: number; total: number; problem: string }

function Counted({ count: fit, total, problem }: CountedProps) {
  const { t, i18n } = useTranslation()
  const n = (value: number) => count(value, i18n.language)
  return (
    <div className="flex flex-wrap items-center gap-x-3 border-b border-line px-4 py-1 text-sm text-t3">
      <span>
        {fit < 0 || fit === total
          ? t('trace.nRows', { count: total, n: n(total) })
          : t('trace.nOf', { n: counted(fit, i18n.language), total: n(total) })}
      </span>
      <Measured />
      {problem === '' ? null : <span className="text-red">{problem}</span>}
    </div>
  )
}

const rowSize = 30

type RowsProps = {
  rows: AuditRow[]
  selected: number
  onSelect(seq: number): void
  onScrolled(away: boolean): void
  onEnd(): void
}

function Rows({ rows, selected, onSelect, onScrolled, onEnd }: RowsProps) {
  const { t } = useTranslation()
  const ref = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => ref.current,
    estimateSize: () => rowSize,
    getItemKey: (index) => rows[index]?.seq ?? index,
    overscan: 12,
  })
  const items = list.getVirtualItems()
  useEnd(items.at(-1)?.index ?? 0, rows.length, onEnd)
  const far = rows.findIndex((row) => row.seq === selected)
  useReveal(far, selected, (index) => list.scrollToIndex(index))
  const move = (by: number) => {
    const next = Math.min(Math.max(far + by, 0), rows.length - 1)
    const row = rows[next]
    if (row === undefined) return
    onSelect(row.seq)
    list.scrollToIndex(next)
  }
  return (
    <div
      ref={ref}
      role="listbox"
      aria-label={t('audit.title')}
      aria-activedescendant={selected > 0 ? `row-${selected}` : undefined}
      tabIndex={0}
      onScroll={(event) => onScrolled(event.currentTarget.scrollTop > rowSize)}
      onKeyDown={stepKeys(move)}
      className="@container min-h-0 flex-1 overflow-y-auto"
    >
      <div className="relative" style={{ height: list.getTotalSize() }}>
        {items.map((item) => {
          const row = rows[item.index]
          return row === undefined ? null : (
            <div
              key={item.key}
              className="absolute inset-x-0 top-0"
              style={{ height: rowSize, transform: `translateY(${item.start}px)` }}
            >
              <AuditLine row={row} active={row.seq === selected} onSelect={onSelect} />
            </div>
          )
        })}
      </div>
    </div>
  )
}
