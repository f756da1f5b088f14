import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { useAudit } from '@/api/audit'
import { useStatus } from '@/api/status'
import { Button } from '@/components/Button'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { type AuditFilter, type AuditRow, formatFilter } from '@/domain/audit'
import { count } from '@/domain/time'
import { AuditLine } from './AuditLine'

type Props = { filter: AuditFilter; selected: number; onSelect(seq: number): void }

export function AuditList({ filter, selected, onSelect }: Props) {
  const { t } = useTranslation()
  const audit = useAudit(filter)
  const rows = useMemo(() => audit.data?.pages.flatMap((page) => page.rows) ?? [], [audit.data])
  if (audit.isError) return <ErrorNote error={audit.error} onRetry={() => void audit.refetch()} />
  if (audit.isPending) return <SkeletonLines lines={14} />
  if (rows.length === 0) {
    return formatFilter(filter) === '' ? (
      <Empty title={t('audit.none')} help={t('audit.noneHelp')} />
    ) : (
      <Empty title={t('audit.noMatch')} />
    )
  }
  const pages = audit.data.pages.length
  return (
    <div className="relative flex min-h-0 min-w-0 flex-1 flex-col">
      <Newer
        total={audit.data.pages[0]?.total ?? 0}
        few={pages <= 2}
        busy={audit.isFetching}
        onLoad={() => void audit.refetch()}
      />
      <Rows
        rows={rows}
        selected={selected}
        onSelect={onSelect}
        onEnd={() => {
          if (audit.hasNextPage && !audit.isFetching) void audit.fetchNextPage()
        }}
      />
    </div>
  )
}

type NewerProps = { total: number; few: boolean; busy: boolean; onLoad(): void }

/** New rows come in by themselves near the top, and on request further down. */
function Newer({ total, few, busy, onLoad }: NewerProps) {
  const { t, i18n } = useTranslation()
  const records = useStatus().data?.records ?? 0
  const newer = Math.max(0, records - total)
  useEffect(() => {
    if (newer > 0 && few && !busy) onLoad()
  }, [newer, few, busy, onLoad])
  if (newer === 0 || few) return null
  return (
    <Button size="small" className="absolute top-9 left-1/2 z-10 -translate-x-1/2" onClick={onLoad}>
      {t('audit.newer', { count: newer, n: count(newer, i18n.language) })}
    </Button>
  )
}

const rowSize = 30

type RowsProps = {
  rows: AuditRow[]
  selected: number
  onSelect(seq: number): void
  onEnd(): void
}

function Rows({ rows, selected, onSelect, onEnd }: RowsProps) {
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
  const last = items.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= rows.length - 20) onEnd()
  }, [last, rows.length, onEnd])
  const move = (by: number) => {
    const at = rows.findIndex((row) => row.seq === selected)
    const next = Math.min(Math.max(at + by, 0), rows.length - 1)
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
      onKeyDown={(event) => {
        if (event.key === 'ArrowDown' || event.key === 'j') move(1)
        else if (event.key === 'ArrowUp' || event.key === 'k') move(-1)
        else return
        event.preventDefault()
      }}
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
