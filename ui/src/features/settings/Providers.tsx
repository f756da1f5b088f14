import { Plus } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type Provider, useProviders } from '@/api/providers'
import { Age } from '@/components/Age'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { Scripted } from '@/components/Mark'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { useDialogs } from '@/store/dialogs'
import { KeyForm } from './KeyForm'
import { LocalServers } from './LocalServers'
import { Panel } from './Panel'
import { ProviderActions } from './ProviderActions'

export function Providers() {
  const { t } = useTranslation()
  const providers = useProviders()
  const show = useDialogs((state) => state.show)
  return (
    <Panel
      title={t('settings.providers')}
      help={t('settings.providersHelp')}
      action={
        <Button onClick={() => show({ kind: 'provider', name: null })}>
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
          <Row key={provider.name} provider={provider} />
        ))}
      </ul>
    </Panel>
  )
}

function Row({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-md font-medium">{provider.name}</span>
        <span className="text-t3">{provider.kind}</span>
        {provider.scripted ? <Scripted /> : null}
        {provider.builtIn ? <Chip>{t('settings.builtIn')}</Chip> : null}
        {provider.local ? <Chip tone="cyan">{t('settings.localChip')}</Chip> : null}
        {provider.runnable ? null : (
          <Chip tone="amber" why={t('settings.kindClients')}>
            {t('settings.notRunnable')}
          </Chip>
        )}
        <code className="ml-auto truncate font-mono text-sm text-t3">{provider.baseUrl}</code>
      </div>
      <Offers provider={provider} />
      {provider.scripted || !provider.needsKey ? (
        <p className="text-sm text-t3">{t('settings.noKeyNeeded')}</p>
      ) : (
        <>
          <Secret provider={provider} />
          <KeyForm provider={provider} />
        </>
      )}
      <ProviderActions provider={provider} />
    </li>
  )
}

/** Models of a model, hosts of a fetch; another tool has no such list. */
function Offers({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const model = ['anthropic', 'openai', 'gemini'].includes(provider.kind)
  if (!model && provider.kind !== 'fetch') return null
  const list = model ? provider.models : provider.hosts
  return (
    <p className="text-sm break-words text-t3">
      {t(model ? 'settings.models' : 'settings.hosts')}: {list.join(', ') || t('common.none')}
    </p>
  )
}

function Secret({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  if (!provider.hasSecret) {
    return (
      <p>
        <Chip tone="amber">{t('settings.noKey')}</Chip>
      </p>
    )
  }
  const store = provider.keptIn === 'keychain' ? t('settings.keychain') : t('settings.file')
  return (
    <p className="flex flex-wrap items-center gap-3 text-sm text-t3">
      <Chip tone="green">
        {t('settings.hasKey', { age: '' })}
        {provider.setAt === null ? null : <Age when={provider.setAt} />}
      </Chip>
      <span>
        {provider.lastUsed === null ? (
          t('settings.neverUsed')
        ) : (
          <>
            {t('settings.usedAt', { age: '' })} <Age when={provider.lastUsed} />
          </>
        )}
      </span>
      {provider.keptIn === '' ? null : <span>{t('settings.keptIn', { store })}</span>}
    </p>
  )
}
