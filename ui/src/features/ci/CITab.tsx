import { FlaskConical } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useReview } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { Claimed, Measured } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import { Safe } from '@/components/Safe'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { useElapsed } from '@/components/useAge'
import { hasResult } from '@/domain/actions'
import { stripEscapes } from '@/domain/bidi'
import type { CI, CIState, Task } from '@/domain/model'
import { useActions } from '@/features/task/useActions'
import { useDialogs } from '@/store/dialogs'
import { CIChip } from './CIChip'

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
      <Bound ci={review.data.ci} />
      <Changed ci={review.data.ci} />
      <Log ci={review.data.ci} />
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
      {help === null ? null : <p className="text-t2">{t(help)}</p>}
      {ci.cause === '' ? null : (
        <p className="break-words text-t2">
          <Safe text={ci.cause} />
        </p>
      )}
    </section>
  )
}

function Bound({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  const took = useElapsed(ci.started, ci.ended)
  if (ci.resultTree === '') return null
  return (
    <section aria-label={t('ci.bound')} className="rounded-md border border-line bg-card">
      <h4 className="border-b border-line px-3 py-1.5 text-sm font-medium text-t2">
        {t('ci.bound')}
      </h4>
      <dl className="grid grid-cols-2 gap-x-4 px-3 py-1">
        <Pair name={t('ci.resultTree')}>
          <Oid oid={ci.resultTree} />
        </Pair>
        <Pair name={t('ci.head')}>
          <Oid oid={ci.head} />
        </Pair>
        <Pair name={t('ci.target')}>
          <Oid oid={ci.targetOid} />
        </Pair>
        <Pair name={t('ci.gateHash')}>
          <Oid oid={ci.gateHash} />
        </Pair>
        <Pair name={t('ci.image')}>
          <Oid oid={ci.digest.replace('sha256:', '')} />
        </Pair>
        <Pair name={t('ci.took')}>{took}</Pair>
        {ci.ended === null ? null : <Pair name={t('ci.exit')}>{ci.exitCode}</Pair>}
      </dl>
    </section>
  )
}

function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex h-7 items-center gap-2">
      <dt className="w-28 text-t3">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Changed({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  if (ci.changed.length === 0) return null
  return (
    <section className="flex flex-col gap-1 rounded-md border border-amber/40 bg-amber-soft p-3">
      <h4 className="font-medium text-amber">{t('ci.changed')}</h4>
      <p className="text-t2">{t('ci.changedHelp')}</p>
      <ul className="font-mono text-sm">
        {ci.changed.map((path) => (
          <li key={path} className="break-all">
            <Safe text={path} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Log({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  if (ci.started === null) return null
  return (
    <section className="flex min-h-0 flex-col gap-1">
      <h4 className="flex items-center gap-2 font-medium">
        {t('ci.log')}
        <Claimed />
        {ci.logCut ? (
          <Chip tone="amber" why={t('common.truncatedWhy')}>
            {t('common.truncated')}
          </Chip>
        ) : null}
      </h4>
      <p className="text-sm text-t3">{t('ci.logHelp')}</p>
      <pre
        dir="ltr"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        className="claimed max-h-[480px] min-h-12 overflow-auto rounded-md bg-inset p-3 font-mono text-sm whitespace-pre-wrap"
      >
        {ci.log === '' ? t('ci.noLog') : <Safe text={stripEscapes(ci.log)} />}
      </pre>
    </section>
  )
}
