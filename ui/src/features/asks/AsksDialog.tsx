import { useTranslation } from 'react-i18next'
import { useAsks } from '@/api/asks'
import { Dialog } from '@/components/Dialog'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { AskList } from './AskList'

/** Everything that waits for an answer, of every task and program. */
export function AsksDialog({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  const asks = useAsks()
  return (
    <Dialog title={t('ask.title')} onClose={onClose} className="w-[720px]" keeps>
      <div className="flex min-h-0 flex-col overflow-y-auto">
        {asks.isError ? <ErrorNote error={asks.error} onRetry={() => void asks.refetch()} /> : null}
        {asks.isPending ? <SkeletonLines lines={4} /> : null}
        {asks.data?.length === 0 ? <Empty title={t('ask.none')} help={t('ask.noneHelp')} /> : null}
        <AskList asks={asks.data ?? []} linked />
      </div>
    </Dialog>
  )
}
