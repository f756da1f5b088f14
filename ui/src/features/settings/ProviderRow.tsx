import { useTranslation } from 'react-i18next'
import { isModel, type Provider } from '@/api/providers'
import { Age } from '@/components/Age'
import { Chip } from '@/components/Chip'
import { Scripted } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { KeyForm } from './KeyForm'
import { ProviderActions } from './ProviderActions'

export function ProviderRow({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const keyless = provider.scripted || !provider.needsKey
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-md font-medium break-all">{provider.name}</span>
        {provider.kind === provider.name ? null : <span className="text-t3">{provider.kind}</span>}
        {provider.scripted ? <Scripted /> : null}
        {provider.local ? <Chip tone="cyan">{t('settings.localChip')}</Chip> : null}
        {keyless ? <Chip>{t('settings.noKeyNeeded')}</Chip> : <Secret provider={provider} />}
        {provider.runnable ? null : isModel(provider.kind) ? (
          <Chip why={t('settings.kindClients')}>{t('settings.notRunnable')}</Chip>
        ) : (
          <Chip why={t('settings.kindTool')}>{t('settings.tool')}</Chip>
        )}
        <code
          className="ml-auto min-w-0 truncate font-mono text-sm text-t3"
          title={provider.baseUrl}
        >
          {provider.baseUrl}
        </code>
      </div>
      <Offers provider={provider} />
      {keyless ? null : <KeyForm provider={provider} />}
      <ProviderActions provider={provider} />
    </li>
  )
}

const shown = 8

/** Models of a model, hosts of a fetch; another tool has no such list. */
function Offers({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const model = isModel(provider.kind)
  if (!model && provider.kind !== 'fetch') return null
  const list = model ? provider.models : provider.hosts
  const name = t(model ? 'settings.models' : 'settings.hosts')
  const first = list.slice(0, shown).join(', ')
  if (list.length <= shown) {
    return (
      <p className="text-sm break-words text-t3">
        {name}: <Safe text={first || t('common.none')} />
      </p>
    )
  }
  return (
    <details className="group text-sm text-t3">
      <summary className="break-words">
        {name}:{' '}
        <span className="group-open:hidden">
          <Safe text={first} /> {t('rail.more', { n: list.length - shown })}
        </span>
      </summary>
      <p className="mt-1 max-h-40 overflow-y-auto break-words">
        <Safe text={list.join(', ')} />
      </p>
    </details>
  )
}

/** That there is a key, how old it is and when it was last used; never what it is. */
function Secret({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  if (!provider.hasSecret) return <Chip tone="amber">{t('settings.noKey')}</Chip>
  const store = provider.keptIn === 'keychain' ? t('settings.keychain') : t('settings.file')
  return (
    <>
      <Chip tone="green" why={provider.keptIn === '' ? undefined : t('settings.keptIn', { store })}>
        {t('settings.hasKey')} {provider.setAt === null ? null : <Age when={provider.setAt} />}
      </Chip>
      <span className="text-sm text-t3">
        {provider.lastUsed === null ? (
          t('settings.neverUsed')
        ) : (
          <>
            {t('settings.usedAt')} <Age when={provider.lastUsed} />
          </>
        )}
      </span>
    </>
  )
}
