import { FlaskConical } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useReview } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Measured } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { hasResult } from '@/domain/actions'
import type { CI, CIState, Task } from '@/domain/model'
import { useActions } from '@/features/task/useActions'
import { useDialogs } from '@/store/dialogs'
import { CIChip } from './CIChip'
import { GateBound, GateChanged, GateLog } from './GateResult'

export function CITab({ task }: { task: Task }) {
  const { t } = useTranslation()
  const review = useReview(task)
  if (!hasResult(task)) return <Empty title={t('review.none')} help={t('ci.pendingHelp')} />
  if (review.isError) {
    return <ErrorNote error={review.error} onRetry={() => void review.refetch()} />
  }
  if (review.isPending) return <SkeletonLines lines={8} />
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4">
      <Top task={task} ci={review.data.ci} />
      <GateBound ci={review.data.ci} />
      <GateChanged ci={review.data.ci} />
      <GateLog ci={review.data.ci} />
    </div>
  )
}

function helpOf(state: CIState): 'ci.noneHelp' | 'ci.pendingHelp' | 'ci.staleHelp' | null {
  switch (state) {
    case 'none':
      return 'ci.noneHelp'
    case 'pending':
      return 'ci.pendingHelp'
    case 'stale':
      return 'ci.staleHelp'
    default:
      return null
  }
}

function Top({ task, ci }: { task: Task; ci: CI }) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const run = useActions(task).find((action) => action.id === 'ci')
  const help = helpOf(ci.state)
  return (
    <section className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <h3 className="text-md font-semibold">{t('ci.title')}</h3>
        <CIChip state={ci.state} />
        {ci.started === null ? null : <Measured />}
        <span className="flex-1" />
        {ci.state === 'none' ? (
          <Button onClick={() => show({ kind: 'repo', repo: task.repoId })}>
            {t('repo.edit')}
          </Button>
        ) : (
          <Button disabled={run?.refused !== undefined} title={run?.refused} onClick={run?.perform}>
            <FlaskConical aria-hidden />
            {ci.started === null ? t('ci.run') : t('ci.again')}
          </Button>
        )}
      </div>
      {run?.refused === undefined || ci.state === 'none' ? null : (
        <p className="text-sm text-t3">{run.refused}</p>
      )}
      {help === null ? null : <p className="text-t2">{t(help)}</p>}
      {ci.cause === '' ? null : (
        <p className="break-words text-t2">
          <Safe text={ci.cause} />
        </p>
      )}
    </section>
  )
}
