import { useTranslation } from 'react-i18next'
import { useWitnesses } from '@/api/auditWitness'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { Panel } from '@/features/settings/Panel'
import { AddFile, AddUrl } from './AddWitness'
import { WitnessRow } from './WitnessRow'

/** Who keeps checkpoints of the log, and what each of them found. */
export function Witnesses() {
  const { t } = useTranslation()
  const list = useWitnesses()
  return (
    <Panel title={t('witness.title')} help={t('witness.help')}>
      {list.isError ? <ErrorNote error={list.error} onRetry={() => void list.refetch()} /> : null}
      {list.isPending ? <SkeletonLines lines={4} /> : null}
      {list.data === undefined ? null : (
        <ul aria-label={t('witness.title')} className="flex flex-col gap-2">
          {list.data.map((one) => (
            <WitnessRow key={one.id} witness={one} />
          ))}
        </ul>
      )}
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-2">
        <AddFile />
        <AddUrl />
      </div>
    </Panel>
  )
}
