import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useGrow } from '@/api/auditTrace'
import { Button } from '@/components/Button'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { type Call, messageOf, type StageRef } from '@/domain/auditCall'
import { type AuditFilter, isEmpty, outsideCalls } from '@/domain/auditFilter'
import { counted } from '@/domain/auditMetrics'
import { type AuditPlace, fromWire, selected, stageOf, toWire } from '@/domain/auditPlace'
import type { TreeRow } from '@/domain/auditTree'
import { Detail } from './Detail'
import { NewRows, useTail } from './Tail'
import { TraceTree } from './TraceTree'
import { useNames } from './useNames'
import { type Tree, useTree } from './useTree'
import { Waterfall } from './Waterfall'

export type TabProps = {
  place: AuditPlace
  filter: AuditFilter
  /** To another place; replace leaves no step to go back to. */
  go(change: Partial<AuditPlace>, replace?: boolean): void
}

export function TraceTab(props: TabProps) {
  const { t } = useTranslation()
  if (!outsideCalls(props.filter)) return <Trace {...props} />
  return (
    <Empty title={t('trace.outside')} help={t('trace.outsideHelp')}>
      <Button onClick={() => props.go({ view: 'rows' })}>{t('trace.tab.rows')}</Button>
    </Empty>
  )
}

function Trace({ place, filter, go }: TabProps) {
  const { t } = useTranslation()
  const tree = useTree(filter, place)
  const [away, setAway] = useState(false)
  const tail = useTail(place.live === true, away)
  const grow = useGrow()
  const { contexts } = tree
  if (contexts.isError && contexts.data === undefined)
    return <ErrorNote error={contexts.error} onRetry={() => void contexts.refetch()} />
  if (contexts.isPending) return <Loading />
  if (tree.rows.length === 0) return <Nothing filter={filter} go={go} />
  const choose = (row: TreeRow) => {
    if (row.kind === 'error') void grow()
    if ('open' in row) tree.toggle(row.key, !row.open || row.key !== tree.selected)
    const next = placeOf(row)
    if (next !== null) go(next)
  }
  return (
    <div className="flex min-h-0 flex-1">
      <section
        aria-label={t('trace.tree')}
        className="relative flex w-[30%] max-w-96 min-w-60 flex-col border-r border-line"
      >
        <Head tree={tree} />
        <NewRows tail={tail} paused={place.live === true && away} />
        <TraceTree tree={tree} onChoose={choose} onScrolled={setAway} />
      </section>
      <Middle place={place} filter={filter} go={go} tree={tree} />
      <Detail place={place} tree={tree} go={go} />
    </div>
  )
}

function Head({ tree }: { tree: Tree }) {
  const { t, i18n } = useTranslation()
  const total = tree.contexts.data?.pages[0]?.count ?? 0
  return (
    <p className="flex h-7 shrink-0 items-center border-b border-line px-3 text-sm text-t3">
      {t('trace.nTasks', { count: total, n: counted(total, i18n.language) })}
    </p>
  )
}

function Middle({ place, filter, go, tree }: TabProps & { tree: Tree }) {
  const { t } = useTranslation()
  const names = useNames()
  const stage = stageOf(place)
  const task = place.task === undefined ? null : { task: fromWire(place.task) }
  const of = stage ?? task
  const loaded = stage === null ? null : tree.stageNamed(stage)
  const agent =
    loaded?.state === 'ready' ? loaded.items.find((one) => one.stage === stage?.stage)?.agent : ''
  const name =
    stage === null
      ? (names.task(task?.task ?? '') ?? t('trace.noTask'))
      : names.stage({ ...stage, agent })
  const onSelect = (call: Call) => {
    const where: StageRef = { task: call.task, run: call.run, stage: call.stage }
    go({ ...selected(where, messageOf(call)), seq: call.seq })
  }
  return (
    <section
      aria-label={t('trace.waterfall')}
      className="flex min-w-0 flex-1 flex-col border-r border-line"
    >
      {of === null ? (
        <Empty title={t('trace.choose')} help={t('trace.chooseHelp')} />
      ) : (
        <Waterfall
          key={stage === null ? place.task : `${place.task} ${place.run} ${place.stage}`}
          of={of}
          name={name}
          filter={filter}
          selected={place.seq ?? seqOf(place.message)}
          onSelect={onSelect}
        />
      )}
    </section>
  )
}

/** The row that a message's id begins with. */
function seqOf(message: string | undefined): number {
  return Number.parseInt(message ?? '', 10) || 0
}

function placeOf(row: TreeRow): Partial<AuditPlace> | null {
  switch (row.kind) {
    case 'context':
      return { ...selected({ task: row.context.task }), task: toWire(row.context.task) }
    case 'stage':
      return selected(row.stage)
    case 'message':
      return selected(row.stage, row.message.id)
    case 'part':
      return selected(row.stage, row.message.id, row.index)
    default:
      return null
  }
}

function Loading() {
  return (
    <div className="flex min-h-0 flex-1">
      <div className="w-[30%] max-w-96 min-w-60 border-r border-line">
        <SkeletonLines lines={14} />
      </div>
      <div className="flex-1" />
    </div>
  )
}

function Nothing({ filter, go }: Pick<TabProps, 'filter' | 'go'>) {
  const { t } = useTranslation()
  if (isEmpty(filter))
    return (
      <Empty title={t('audit.none')} help={t('audit.noneHelp')}>
        <Link to="/" className="text-cyan hover:underline">
          {t('error.home')}
        </Link>
      </Empty>
    )
  return (
    <Empty title={t('audit.noMatch')} help={t('trace.noMatchHelp')}>
      <Button onClick={() => go({ q: undefined })}>{t('trace.clear')}</Button>
    </Empty>
  )
}
