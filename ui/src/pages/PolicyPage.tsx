import { Link, useParams } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePolicy } from '@/api/policies'
import { Problem } from '@/api/problem'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { PolicyEditor } from '@/features/policy/PolicyEditor'
import { Panel } from '@/features/settings/Panel'

/** The rules of one provider. */
export function PolicyPage() {
  const { t } = useTranslation()
  const { name } = useParams({ from: '/settings/providers/$name' })
  const policy = usePolicy(name)
  const missing = policy.error instanceof Problem && policy.error.status === 404
  return (
    <div className="flex flex-col gap-2">
      <Link
        to="/settings/$panel"
        params={{ panel: 'providers' }}
        className="flex items-center gap-1 self-start text-t3 hover:text-t1"
      >
        <ChevronLeft aria-hidden className="size-4" />
        {t('settings.providers')}
      </Link>
      <Panel title={t('policy.title', { name })} help={t('policy.help')}>
        {missing ? <Empty title={t('policy.missing', { name })} /> : null}
        {policy.isError && !missing ? (
          <ErrorNote error={policy.error} onRetry={() => void policy.refetch()} />
        ) : null}
        {policy.isPending ? <SkeletonLines lines={10} /> : null}
        {policy.data === undefined ? null : (
          <PolicyEditor key={name} provider={name} saved={policy.data} />
        )}
      </Panel>
    </div>
  )
}
