import { useTranslation } from 'react-i18next'
import { useBudgets } from '@/api/budgets'
import { useProviders } from '@/api/providers'
import { useTasks } from '@/api/tasks'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { type Budget, budgetOr } from '@/domain/budget'
import { Panel } from '@/features/settings/Panel'
import { DailyBudget, LinkedBudget } from './BudgetRow'
import { UnpricedNote } from './UnpricedNote'

/** What may be drawn in a day, by provider, by run and by task. */
export function Budgets() {
  const { t } = useTranslation()
  const budgets = useBudgets()
  const providers = useProviders()
  if (budgets.isError)
    return <ErrorNote error={budgets.error} onRetry={() => void budgets.refetch()} />
  if (budgets.isPending || providers.isPending) return <SkeletonLines lines={8} />
  const list = budgets.data
  const day = list.find((one) => one.scope === 'day')
  const models = (providers.data ?? []).filter((one) => one.models.length > 0 || one.runnable)
  const names = new Set([
    ...list.filter((one) => one.scope === 'provider').map((one) => one.id),
    ...models.map((one) => one.name),
  ])
  const ofProvider = (id: string) => budgetOr(list, 'provider', id, { day: day?.day ?? '' })
  return (
    <>
      <Panel title={t('budget.title')} help={t('budget.help')}>
        <UnpricedNote />
        <ul aria-label={t('budget.title')} className="flex flex-col gap-2">
          {day === undefined ? null : <DailyBudget budget={day} />}
          {[...names].sort().map((name) => (
            <DailyBudget key={name} budget={ofProvider(name)} />
          ))}
        </ul>
      </Panel>
      <Limited list={list.filter((one) => one.scope === 'run' || one.scope === 'task')} />
    </>
  )
}

/** Runs and tasks that have a limit; it is set at the task. */
function Limited({ list }: { list: Budget[] }) {
  const { t } = useTranslation()
  const tasks = useTasks().data ?? []
  const taskOf = ({ scope, id }: Budget) =>
    tasks.find((task) => (scope === 'task' ? task.id === id : task.attempt?.run?.id === id))
  return (
    <Panel title={t('budget.limited')} help={t('budget.limitedHelp')}>
      {list.length === 0 ? <Empty title={t('budget.noneLimited')} /> : null}
      <ul aria-label={t('budget.limited')} className="flex flex-col gap-2">
        {list.map((one) => (
          <LinkedBudget key={`${one.scope}:${one.id}`} budget={one} task={taskOf(one)} />
        ))}
      </ul>
    </Panel>
  )
}
