import { ChevronDown, ChevronRight, Pencil } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useBudgets } from '@/api/budgets'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { type Budget, budgetOr } from '@/domain/budget'
import type { Limit } from '@/domain/limit'
import type { Task } from '@/domain/model'
import { compact } from '@/domain/time'
import { usd } from '@/domain/usd'
import { Meters } from '@/features/budgets/Meters'
import { MeansForm } from './MeansForm'

export type MeansState = 'closed' | 'open' | 'edit'

type Props = { task: Task; state: MeansState; onState(state: MeansState): void }

/** What the task may spend and reach, and what it has spent. */
export function Means({ task, state, onState }: Props) {
  const { t } = useTranslation()
  const list = useBudgets().data ?? []
  const whole = budgetOr(list, 'task', task.id, {
    limit: task.budget,
    spent: { tokens: task.tokens, cost: task.cost },
  })
  const run = runBudget(task, list)
  const closed = task.status === 'done' || task.status === 'cancelled'
  const Icon = state === 'closed' ? ChevronRight : ChevronDown
  return (
    <section aria-label={t('means.title')} className="border-b border-line px-4 py-1">
      <div className="flex items-center gap-2">
        <button
          type="button"
          aria-expanded={state !== 'closed'}
          onClick={() => onState(state === 'closed' ? 'open' : 'closed')}
          className="flex min-w-0 flex-1 items-center gap-1 py-0.5 text-left text-t2"
        >
          <Icon aria-hidden className="size-3.5 shrink-0" />
          <span className="truncate">
            {t('means.title')}: <Spent budget={whole} />
            {task.reach.length === 0
              ? ''
              : ` · ${t('means.reach')} ${task.reach.join(t('cause.comma'))}`}
          </span>
        </button>
        {closed || state === 'edit' ? null : (
          <Button look="ghost" size="small" changes onClick={() => onState('edit')}>
            <Pencil aria-hidden />
            {t('means.edit')}
          </Button>
        )}
      </div>
      {state === 'open' ? <Details task={task} whole={whole} run={run} /> : null}
      {state === 'edit' ? <MeansForm task={task} onClose={() => onState('open')} /> : null}
    </section>
  )
}

/** The newest run's budget; null before there is a run. */
function runBudget(task: Task, list: readonly Budget[]): Budget | null {
  const run = task.attempt?.run ?? null
  if (run === null) return null
  const sum = (of: (stage: { tokens: number; cost: number }) => number) =>
    run.stages.reduce((all, stage) => all + of(stage), 0)
  return budgetOr(list, 'run', run.id, {
    limit: task.runBudget,
    spent: { tokens: sum((stage) => stage.tokens), cost: sum((stage) => stage.cost) },
  })
}

/** One line: what was spent, and of how much. */
function Spent({ budget: { limit, spent } }: { budget: Budget }) {
  const { t, i18n } = useTranslation()
  const language = i18n.language
  const of = (bound: keyof Limit, write: (value: number) => string) =>
    limit[bound] === null ? '' : ` ${t('budget.of', { n: write(limit[bound]) })}`
  return (
    <>
      {usd(spent.cost, language)}
      {of('cost', (value) => usd(value, language))} ·{' '}
      {t('board.tokens', { n: compact(spent.tokens, language) })}
      {of('tokens', (value) => compact(value, language))}
    </>
  )
}

type DetailProps = { task: Task; whole: Budget; run: Budget | null }

function Details({ task, whole, run }: DetailProps) {
  const { t } = useTranslation()
  const rows = [
    { name: t('means.task'), budget: whole },
    ...(run === null ? [] : [{ name: t('means.newest'), budget: run }]),
  ]
  return (
    <div className="flex flex-col gap-3 py-2">
      {rows.map(({ name, budget }) => (
        <div key={name} className="flex flex-col gap-1">
          <h3 className="text-sm font-medium text-t2">{name}</h3>
          <Meters of={name} budget={budget} />
        </div>
      ))}
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <span className="font-medium text-t2">{t('means.reach')}</span>
        <Chip>{task.provider}</Chip>
        {task.reach.map((name) => (
          <Chip key={name}>{name}</Chip>
        ))}
        {task.reach.length === 0 ? <span className="text-t3">{t('means.nothingElse')}</span> : null}
      </div>
    </div>
  )
}
