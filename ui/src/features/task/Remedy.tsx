import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { hostCause, remedyOf } from '@/domain/cause'
import type { Task } from '@/domain/model'

/** Where a budget ended the run: the way to lift it, beside the cause. */
export function Remedy({ task, onRaise }: { task: Task; onRaise(): void }) {
  const { t } = useTranslation()
  if (task.status !== 'failed' && task.status !== 'stopped') return null
  const remedy = remedyOf(hostCause(task.cause))
  switch (remedy) {
    case null:
      return null
    case 'task':
      return (
        <Button size="small" changes onClick={onRaise}>
          {t('means.raise')}
        </Button>
      )
    case 'budgets':
    case 'prices':
      return (
        <Link
          to="/settings/$panel"
          params={{ panel: remedy }}
          className="inline-flex h-6 items-center rounded-md border border-line-strong bg-card px-2 text-sm font-medium hover:bg-hover"
        >
          {t(remedy === 'budgets' ? 'means.raiseDay' : 'price.go')}
        </Link>
      )
  }
}
