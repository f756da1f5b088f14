import { Link } from '@tanstack/react-router'
import { Pencil } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSetBudget } from '@/api/budgets'
import { Button } from '@/components/Button'
import { Safe } from '@/components/Safe'
import type { Budget } from '@/domain/budget'
import type { Task } from '@/domain/model'
import { useToasts } from '@/store/toasts'
import { LimitForm } from './LimitForm'
import { Meters } from './Meters'

/** The limit of a day, or of a provider per day, which is set here. */
export function DailyBudget({ budget }: { budget: Budget }) {
  const { t } = useTranslation()
  const [editing, setEditing] = useState(false)
  const set = useSetBudget()
  const toast = useToasts((state) => state.show)
  const name = budget.scope === 'day' ? t('budget.day') : budget.id
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate text-md font-medium">{name}</span>
        <span className="text-sm text-t3">{t('budget.onDay', { day: budget.day })}</span>
        {editing ? null : (
          <Button
            size="small"
            changes
            aria-label={t('budget.changeOf', { of: name })}
            onClick={() => setEditing(true)}
          >
            <Pencil aria-hidden />
            {t('budget.change')}
          </Button>
        )}
      </div>
      <Meters of={name} budget={budget} />
      {editing ? (
        <LimitForm
          limit={budget.limit}
          of={name}
          busy={set.isPending}
          error={set.error}
          onClose={() => {
            setEditing(false)
            set.reset()
          }}
          onSave={(limit) =>
            set.mutate(
              { scope: budget.scope, id: budget.id, limit },
              {
                onSuccess: () => {
                  setEditing(false)
                  toast(t('budget.saved', { of: name }))
                },
              },
            )
          }
        />
      ) : null}
    </li>
  )
}

/** A budget that is set elsewhere, with the way there. */
export function LinkedBudget({ budget, task }: { budget: Budget; task: Task | undefined }) {
  const { t } = useTranslation()
  const name = `${t(`budget.${budget.scope}`)} ${task === undefined ? budget.id : `#${task.number}`}`
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <Heading task={task}>
        {t(`budget.${budget.scope}`)}{' '}
        {task === undefined ? (
          <code className="font-mono text-sm">{budget.id}</code>
        ) : (
          <>
            #{task.number} <Safe text={task.title} />
          </>
        )}
      </Heading>
      <Meters of={name} budget={budget} />
    </li>
  )
}

function Heading({ task, children }: { task: Task | undefined; children: ReactNode }) {
  if (task === undefined) return <span className="break-all">{children}</span>
  return (
    <Link
      to="/tasks/$taskId"
      params={{ taskId: task.id }}
      className="font-medium break-words hover:underline"
    >
      {children}
    </Link>
  )
}
