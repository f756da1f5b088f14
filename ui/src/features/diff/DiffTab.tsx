import { useTranslation } from 'react-i18next'
import { useDiff } from '@/api/diff'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { hasResult } from '@/domain/actions'
import type { Task } from '@/domain/model'
import { DiffView } from './DiffView'

export function DiffTab({ task }: { task: Task }) {
  const { t } = useTranslation()
  const diff = useDiff(task)
  if (task.attempt === null || task.attempt.head === '') {
    return <Empty title={t('diff.none')} help={t('diff.noneHelp')} />
  }
  if (diff.isError) return <ErrorNote error={diff.error} onRetry={() => void diff.refetch()} />
  if (diff.isPending) return <SkeletonLines lines={12} />
  if (diff.data.files.length === 0) {
    return <Empty title={hasResult(task) ? t('diff.none') : t('diff.same')} />
  }
  return <DiffView set={diff.data} />
}
