import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import { useId, useMemo, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { useCalls } from '@/api/auditTrace'
import { Measured } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { Call, StageRef } from '@/domain/auditCall'
import type { AuditFilter } from '@/domain/auditFilter'
import { counted, duration } from '@/domain/auditMetrics'
import { type Lane, waterfall } from '@/domain/auditWaterfall'
import { count } from '@/domain/time'
import { Axis } from './Axis'
import { CallLane, GapLane } from './CallLane'
import { stepKeys, useEnd, useReveal } from './useRows'

type Props = {
  of: StageRef | { task: string }
  name: string
  filter: AuditFilter
  /** The first row of the call that is selected. */
  selected: number
  onSelect(call: Call): void
}

export function Waterfall({ of, name, filter, selected, onSelect }: Props) {
  const { t, i18n } = useTranslation()
  const calls = useCalls(of, filter)
  const list = useMemo(() => calls.data?.pages.flatMap((page) => page.items) ?? [], [calls.data])
  const fall = useMemo(() => waterfall(list), [list])
  if (calls.isError) return <ErrorNote error={calls.error} onRetry={() => void calls.refetch()} />
  if (calls.isPending) return <SkeletonLines lines={12} />
  if (list.length === 0) return <Empty title={t('trace.noCalls')} />
  const total = Math.max(calls.data.pages[0]?.count ?? 0, list.length)
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-3 border-b border-line px-3 py-1 text-sm text-t3">
        <span>
          {calls.hasNextPage
            ? t('trace.nOf', {
                n: count(list.length, i18n.language),
                total: counted(total, i18n.language),
              })
            : t('trace.nCalls', { count: list.length, n: count(list.length, i18n.language) })}
        </span>
        <span>{t('trace.busy', { time: duration(fall.busy * 1000, i18n.language) })}</span>
        {fall.idle > 0 ? (
          <span>{t('trace.idle', { time: duration(fall.idle * 1000, i18n.language) })}</span>
        ) : null}
        <Measured />
      </div>
      <Axis ms={fall.busy} />
      <Lanes
        name={name}
        lanes={fall.lanes}
        selected={selected}
        onSelect={onSelect}
        onEnd={() => {
          if (calls.hasNextPage && !calls.isFetching) void calls.fetchNextPage()
        }}
      />
    </>
  )
}

const laneSize = 26

type LanesProps = {
  name: string
  lanes: Lane[]
  selected: number
  onSelect(call: Call): void
  onEnd(): void
}

function Lanes({ name, lanes, selected, onSelect, onEnd }: LanesProps) {
  const { t } = useTranslation()
  const id = useId()
  const ref = useRef<HTMLDivElement>(null)
  const at = lanes.findIndex((one) => one.kind === 'call' && covers(one.call, selected))
  const list = useVirtualizer({
    count: lanes.length,
    getScrollElement: () => ref.current,
    estimateSize: () => laneSize,
    getItemKey: (index) => keyOf(lanes[index], index),
    overscan: 12,
    rangeExtractor: (range) => [
      ...new Set([...(at < 0 ? [] : [at]), ...defaultRangeExtractor(range)]),
    ],
  })
  useReveal(at, selected, (index) => list.scrollToIndex(index))
  const items = list.getVirtualItems()
  useEnd(items.at(-1)?.index ?? 0, lanes.length, onEnd)
  const move = (by: number) => {
    let next = at < 0 ? (by > 0 ? -1 : 0) : at
    do next += by
    while (lanes[next]?.kind === 'gap')
    const to = lanes[next]
    if (to?.kind === 'call') onSelect(to.call)
  }
  return (
    <div
      ref={ref}
      role="listbox"
      aria-label={t('trace.waterfallOf', { name })}
      aria-activedescendant={at < 0 ? undefined : `${id}${at}`}
      tabIndex={0}
      onKeyDown={stepKeys(move)}
      className="min-h-0 flex-1 focus-visible:-outline-offset-2 overflow-x-hidden overflow-y-auto"
    >
      <div role="presentation" className="relative" style={{ height: list.getTotalSize() }}>
        {items.map((item) => {
          const one = lanes[item.index]
          return one === undefined ? null : (
            <div
              key={item.key}
              role="presentation"
              className="absolute inset-x-0 top-0"
              style={{ height: laneSize, transform: `translateY(${item.start}px)` }}
            >
              {one.kind === 'gap' ? (
                <GapLane gap={one} />
              ) : (
                <CallLane
                  id={`${id}${item.index}`}
                  bar={one}
                  active={item.index === at}
                  onSelect={() => onSelect(one.call)}
                />
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function covers(call: Call, seq: number): boolean {
  return seq > 0 && (call.seq === seq || call.outcome === seq)
}

function keyOf(one: Lane | undefined, index: number): string | number {
  if (one === undefined) return index
  return one.kind === 'gap' ? one.key : one.call.seq
}
