import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { useLog } from '@/api/runs'
import { Chip } from '@/components/Chip'
import { Claimed, Measured } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { isLive } from '@/domain/column'
import { entries } from '@/domain/log'
import type { Run, Task } from '@/domain/model'
import { count } from '@/domain/time'
import { StatusChip } from '@/features/task/StatusChip'
import { LogList } from './LogList'

export function LogTab({ task }: { task: Task }) {
  const { t } = useTranslation()
  const run = task.attempt?.run ?? null
  if (run === null) return <Empty title={t('log.none')} help={t('log.noneHelp')} />
  return <RunLog key={run.id} run={run} task={task} />
}

function RunLog({ run, task }: { run: Run; task: Task }) {
  const { t } = useTranslation()
  const log = useLog(run.id)
  if (log.isError) return <ErrorNote error={log.error} onRetry={() => void log.refetch()} />
  if (log.isPending) return <SkeletonLines lines={10} />
  const list = entries(log.data)
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-1.5 text-sm">
        <Claimed />
        <span className="min-w-0 flex-1 text-t3">{t('log.claimed')}</span>
        {isLive(run.status) ? <Chip tone="blue">{t('log.live')}</Chip> : null}
        <Link to="/audit" search={{ q: `run:${run.id}` }} className="text-cyan hover:underline">
          {t('log.trace')}
        </Link>
      </div>
      <Stages run={run} />
      {list.length === 0 ? (
        <Empty title={t('log.empty')} />
      ) : (
        <LogList list={list} live={isLive(task.status)} />
      )}
    </div>
  )
}

function Stages({ run }: { run: Run }) {
  const { t, i18n } = useTranslation()
  return (
    <ul className="border-b border-line px-4 py-1.5 text-sm text-t3">
      {run.stages.map((stage) => (
        <li key={stage.id} className="flex flex-wrap items-center gap-2">
          <span className="font-medium text-t2">{stage.name}</span>
          <StatusChip status={stage.status} />
          <span>{stage.policy}</span>
          {stage.digest === '' ? null : (
            <code title={stage.digest} className="font-mono text-xs text-cyan">
              {stage.digest.slice(0, 19)}
            </code>
          )}
          <Measured>
            {count(stage.tokens, i18n.language)} {t('task.tokens')} ·{' '}
            {t('task.requests', {
              count: stage.requests,
              n: count(stage.requests, i18n.language),
            })}
            {stage.ended === null ? '' : ` · ${t('log.exit', { n: stage.exitCode })}`}
          </Measured>
        </li>
      ))}
    </ul>
  )
}
