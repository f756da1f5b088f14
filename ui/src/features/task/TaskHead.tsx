import { Link } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, Maximize2, Minimize2, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useReview } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Cause } from '@/components/Cause'
import { Chip } from '@/components/Chip'
import { cn } from '@/components/cn'
import { Measured, Scripted } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import { Safe } from '@/components/Safe'
import { useElapsed } from '@/components/useAge'
import { plain } from '@/domain/bidi'
import type { Task } from '@/domain/model'
import { count } from '@/domain/time'
import { usd } from '@/domain/usd'
import { CIChip } from '@/features/ci/CIChip'
import { Remedy } from './Remedy'
import { StatusChip } from './StatusChip'
import { useActions } from './useActions'

type Props = {
  task: Task
  wide: boolean
  onWide(): void
  onClose(): void
  /** Whether all but the first line is folded away; null: it is never. */
  more: { open: boolean; toggle(): void } | null
  /** Opens the budgets of the task for editing. */
  onRaise(): void
}

export function TaskHead({ task, wide, onWide, onClose, more, onRaise }: Props) {
  const { t } = useTranslation()
  const short = more?.open === false
  const Fold = short ? ChevronDown : ChevronUp
  return (
    <header
      className={cn('flex flex-col gap-2 border-b border-line px-4', short ? 'py-1' : 'pt-3 pb-2')}
    >
      <div className={cn('flex gap-1', short ? 'items-center' : 'items-start')}>
        <h2
          title={plain(task.title)}
          className={cn(
            'min-w-0 flex-1 font-semibold',
            short ? 'truncate text-md' : 'text-lg break-words',
          )}
        >
          <Safe text={task.title} />
        </h2>
        {short ? (
          <>
            <StatusChip status={task.status} />
            <CIChip state={task.ci} />
          </>
        ) : null}
        {more === null ? null : (
          <Button
            look="ghost"
            size="icon"
            aria-expanded={more.open}
            aria-label={more.open ? t('task.less') : t('task.more')}
            onClick={more.toggle}
          >
            <Fold aria-hidden />
          </Button>
        )}
        <Button
          look="ghost"
          size="icon"
          aria-label={wide ? t('common.shrink') : t('common.expand')}
          onClick={onWide}
        >
          {wide ? <Minimize2 aria-hidden /> : <Maximize2 aria-hidden />}
        </Button>
        <Button look="ghost" size="icon" aria-label={t('common.close')} onClick={onClose}>
          <X aria-hidden />
        </Button>
      </div>
      {short ? null : (
        <>
          <Strip task={task} />
          <Why task={task} />
          <Actions task={task} onRaise={onRaise} />
        </>
      )}
    </header>
  )
}

function Strip({ task }: { task: Task }) {
  const { t, i18n } = useTranslation()
  const attempt = task.attempt
  const run = attempt?.run ?? null
  const time = useElapsed(run?.started ?? null, run?.ended ?? null)
  const behind = useReview(task).data?.preview.behind ?? 0
  const requests = run?.stages.reduce((sum, stage) => sum + stage.requests, 0) ?? 0
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-t3">
      <StatusChip status={task.status} />
      <CIChip state={task.ci} />
      {task.scripted ? <Scripted /> : null}
      <span>
        #{task.number} {task.repoName}
      </span>
      {attempt === null ? (
        <span>
          {t('task.baseOid')} <code className="font-mono">{task.base}</code>
        </span>
      ) : (
        <>
          <span>{t('task.attempt', { n: attempt.number })}</span>
          <span>
            {t('task.baseOid')} <Oid oid={attempt.base} />
          </span>
          <span>
            {t('task.head')} <Oid oid={attempt.head} />
          </span>
        </>
      )}
      {behind > 0 ? (
        <Chip tone="amber">{t('task.behind', { count: behind, n: behind })}</Chip>
      ) : null}
      {run === null ? null : (
        <Measured>
          {time} · {count(task.tokens, i18n.language)} {t('task.tokens')} ·{' '}
          {usd(task.cost, i18n.language)} ·{' '}
          {t('task.requests', { count: requests, n: count(requests, i18n.language) })}
        </Measured>
      )}
      <span>
        {task.provider} {task.model}
      </span>
      {run === null ? null : (
        <Link to="/audit" search={{ task: task.id }} className="text-cyan hover:underline">
          {t('log.trace')}
        </Link>
      )}
    </div>
  )
}

const steps = ['run', 'review', 'ci', 'approve', 'merge', 'resolve', 'retry', 'answer'] as const

/** Why it stands where it stands, and what comes next. */
function Why({ task }: { task: Task }) {
  const { t } = useTranslation()
  const step = steps.find((one) => one === task.next)
  return (
    <p className={cn('break-words', task.status === 'failed' ? 'text-red' : 'text-t2')}>
      <Cause task={task} />
      {step === undefined ? null : (
        <span className="text-t2">
          {task.cause === '' ? '' : ' · '}
          <span className="text-t3">{t('task.next')}:</span> {t(`next.${step}`)}
        </span>
      )}
    </p>
  )
}

function Actions({ task, onRaise }: { task: Task; onRaise(): void }) {
  const shown = useActions(task).filter((action) => action.id !== 'review')
  return (
    <div className="flex flex-wrap gap-2">
      <Remedy task={task} onRaise={onRaise} />
      {shown
        .filter((action) => action.possible)
        .map((action) => {
          const Icon = action.icon
          const main = action.id === 'run' && task.attempt === null
          const stop = action.id === 'stop'
          return (
            <Button
              key={action.id}
              size="small"
              look={main ? 'solid' : stop ? 'danger' : 'plain'}
              disabled={action.refused !== undefined}
              title={action.refused}
              onClick={action.perform}
            >
              <Icon aria-hidden />
              {action.label}
            </Button>
          )
        })}
    </div>
  )
}
