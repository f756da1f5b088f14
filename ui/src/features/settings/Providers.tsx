import { Plus } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useProviders } from '@/api/providers'
import { Button } from '@/components/Button'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { useDialogs } from '@/store/dialogs'
import { LocalServers } from './LocalServers'
import { Panel } from './Panel'
import { ProviderRow } from './ProviderRow'

export function Providers() {
  const { t } = useTranslation()
  const providers = useProviders()
  const show = useDialogs((state) => state.show)
  return (
    <Panel
      title={t('settings.providers')}
      help={t('settings.providersHelp')}
      action={
        <Button changes onClick={() => show({ kind: 'provider', name: null })}>
          <Plus aria-hidden />
          {t('settings.addProvider')}
        </Button>
      }
    >
      {providers.isError ? (
        <ErrorNote error={providers.error} onRetry={() => void providers.refetch()} />
      ) : null}
      {providers.isPending ? <SkeletonLines lines={4} /> : null}
      <LocalServers />
      <ul aria-label={t('settings.providers')} className="flex flex-col gap-2">
        {providers.data?.map((provider) => (
          <ProviderRow key={provider.name} provider={provider} />
        ))}
      </ul>
    </Panel>
  )
}
