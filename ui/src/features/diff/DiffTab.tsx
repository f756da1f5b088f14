import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useDiff } from '@/api/diff'
import { useReview } from '@/api/tasks'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { hasResult } from '@/domain/actions'
import { askMore, withGates } from '@/domain/diff'
import type { Task } from '@/domain/model'
import { DiffView } from './DiffView'
import type { More } from './NoteRow'

export function DiffTab({ task }: { task: Task }) {
  const { t } = useTranslation()
  const [asked, setAsked] = useState<{ head: string; lines: number }>()
  const head = task.attempt?.head ?? ''
  const lines = asked?.head === head ? asked.lines : undefined
  const diff = useDiff(task, lines)
  const gates = useReview(task).data?.ci.changed
  const set = useMemo(() => diff.data && withGates(diff.data, gates ?? []), [diff.data, gates])
  const next = askMore(lines)
  const more: More = diff.isPlaceholderData
    ? { state: 'reading' }
    : next === null
      ? { state: 'end' }
      : { state: 'more', show: () => setAsked({ head, lines: next }) }
  if (task.attempt === null || task.attempt.head === '') {
    return <Empty title={t('diff.none')} help={t('diff.noneHelp')} />
  }
  if (diff.isError) return <ErrorNote error={diff.error} onRetry={() => void diff.refetch()} />
  if (diff.isPending || set === undefined) return <SkeletonLines lines={12} />
  if (set.files.length === 0) {
    return <Empty title={hasResult(task) ? t('diff.none') : t('diff.same')} />
  }
  return <DiffView set={set} more={more} />
}
