import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Age } from '@/components/Age'
import { Cause } from '@/components/Cause'
import { cn } from '@/components/cn'
import { Measured, Scripted } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { plain } from '@/domain/bidi'
import type { Task } from '@/domain/model'
import { compact, count } from '@/domain/time'
import { usd } from '@/domain/usd'
import { CIChip } from '@/features/ci/CIChip'
import { StatusChip } from '@/features/task/StatusChip'
import { useDialogs } from '@/store/dialogs'
import { CardMenu } from './CardMenu'
import { useDraggableCard } from './useDrag'

export function Card({ task }: { task: Task }) {
  const { t } = useTranslation()
  const ref = useRef<HTMLElement>(null)
  const dragging = useDraggableCard(ref, task)
  const selected = useDialogs((state) => state.selected === task.id)
  const select = useDialogs((state) => state.select)
  const navigate = useNavigate()
  const open = () => {
    select(task.id)
    void navigate({ to: '/tasks/$taskId', params: { taskId: task.id }, search: (old) => old })
  }
  return (
    <article
      ref={ref}
      data-card={task.id}
      className={cn(
        'flex flex-col gap-1.5 rounded-md border bg-card p-2.5',
        selected ? 'border-blue' : 'border-line',
        dragging && 'opacity-50',
      )}
    >
      <div className="flex items-start gap-1">
        <button
          type="button"
          data-card-title={task.id}
          onClick={open}
          onFocus={() => select(task.id)}
          aria-label={t('board.cardLabel', {
            title: plain(task.title),
            status: t(`status.${task.status}`),
          })}
          className="line-clamp-2 min-w-0 flex-1 text-left text-base font-medium break-words"
        >
          <Safe text={task.title} />
        </button>
        <CardMenu task={task} />
      </div>
      <div className="flex flex-wrap items-center gap-1">
        <StatusChip status={task.status} />
        <CIChip state={task.ci} />
        {task.scripted ? <Scripted /> : null}
      </div>
      {task.cause === '' ? null : (
        <p className="line-clamp-2 text-sm break-words text-t3">
          <Cause task={task} />
        </p>
      )}
      <CardFoot task={task} />
    </article>
  )
}

function CardFoot({ task }: { task: Task }) {
  const { t, i18n } = useTranslation()
  const lines = t('board.lines', {
    added: count(task.added, i18n.language),
    deleted: count(task.deleted, i18n.language),
  })
  return (
    <div className="flex flex-wrap items-center gap-x-2 text-xs text-t3">
      <span>#{task.number}</span>
      <span className="max-w-32 truncate">{task.repoName}</span>
      <span>{task.template}</span>
      <span className="max-w-32 truncate">{task.model}</span>
      {task.added + task.deleted === 0 ? null : (
        <span role="img" aria-label={lines} className="font-mono">
          <span className="text-green">+{compact(task.added, i18n.language)}</span>{' '}
          <span className="text-red">−{compact(task.deleted, i18n.language)}</span>
        </span>
      )}
      {task.tokens === 0 ? null : (
        <Measured>
          {task.cost === 0 ? '' : `${usd(task.cost, i18n.language)} · `}
          {t('board.tokens', { n: compact(task.tokens, i18n.language) })}
        </Measured>
      )}
      <span className="ml-auto">
        <Age when={task.updated} />
      </span>
    </div>
  )
}
