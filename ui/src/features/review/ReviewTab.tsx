import { Link } from '@tanstack/react-router'
import { CircleCheck, TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useReview } from '@/api/tasks'
import { Oid } from '@/components/Oid'
import { Safe } from '@/components/Safe'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { hasResult } from '@/domain/actions'
import { approveState, type Warning } from '@/domain/approve'
import type { Review, Task } from '@/domain/model'
import { CIChip } from '@/features/ci/CIChip'
import { Bound } from './Bound'
import { Claims } from './Claims'
import { Decision } from './Decision'
import { Stale } from './Stale'

export function ReviewTab({ task }: { task: Task }) {
  const { t } = useTranslation()
  const review = useReview(task)
  if (!hasResult(task)) return <Empty title={t('review.none')} help={t('review.noneHelp')} />
  if (task.status === 'done') return <Merged task={task} review={review.data} />
  if (review.isError) {
    return <ErrorNote error={review.error} onRetry={() => void review.refetch()} />
  }
  if (review.isPending) return <SkeletonLines lines={8} />
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 overflow-y-auto p-4">
      <Claims attempt={task.attempt} />
      <Stale review={review.data} />
      <Warnings review={review.data} />
      <Conflicts review={review.data} />
      <Bound review={review.data} />
      <Decision task={task} review={review.data} />
    </div>
  )
}

function Merged({ task, review }: { task: Task; review: Review | undefined }) {
  const { t } = useTranslation()
  const approved = review?.approved
  const seq = approved?.state === 'holds' ? approved.approval.seq : undefined
  return (
    <div className="flex flex-col gap-2 p-4">
      <p className="flex items-center gap-2 text-md font-medium text-green">
        <CircleCheck aria-hidden className="size-5" />
        {t('review.merged', { target: task.target })}
      </p>
      {seq === undefined ? null : (
        <Link to="/audit" search={{ seq }} className="text-cyan hover:underline">
          {t('review.approvedRow', { seq })}
        </Link>
      )}
      <p className="flex items-center gap-2 text-t2">
        {t('review.head')} <Oid oid={task.attempt?.head ?? ''} /> <CIChip state={task.ci} />
      </p>
      <Claims attempt={task.attempt} />
    </div>
  )
}

function Warnings({ review }: { review: Review }) {
  const warnings = approveState(review, new Set()).warnings
  return warnings.map((warning) => (
    <div
      key={warning}
      className="flex items-start gap-2 rounded-md border border-amber/40 bg-amber-soft p-2"
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
      <p className="min-w-0 break-words">
        <WarningText warning={warning} review={review} />
      </p>
    </div>
  ))
}

function WarningText({ warning, review }: { warning: Warning; review: Review }) {
  const { t } = useTranslation()
  const { target, behind } = review.preview
  switch (warning) {
    case 'base_moved':
    case 'checked_out':
      return t(`review.warn.${warning}`, { target })
    case 'behind':
      return t('review.warn.behind', { target, count: behind, n: behind })
    case 'truncated':
      return (
        <>
          {t('review.warn.truncated', { files: '' })} <Safe text={review.truncated.join(', ')} />
        </>
      )
  }
}

function Conflicts({ review }: { review: Review }) {
  const { t } = useTranslation()
  const { conflicts, target } = review.preview
  if (conflicts.length === 0) return null
  return (
    <section className="flex flex-col gap-1 rounded-md border border-red/40 bg-red-soft p-3">
      <h3 className="font-medium text-red">{t('review.conflicts', { target })}</h3>
      <p className="text-t2">{t('review.conflictsHelp')}</p>
      <ul className="font-mono text-sm">
        {conflicts.map((conflict) => (
          <li key={conflict.path} className="break-all">
            <Safe text={conflict.path} />{' '}
            <span className="font-sans text-t3">{conflict.kinds.join(', ')}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
