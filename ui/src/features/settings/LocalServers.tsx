import { useTranslation } from 'react-i18next'
import { type LocalServer, useLocalServers, usePutProvider } from '@/api/providers'
import { Button } from '@/components/Button'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'

/** Model servers that answer on this machine and are no provider yet. */
export function LocalServers() {
  const { t } = useTranslation()
  const servers = useLocalServers()
  const offered = servers.data?.filter((one) => one.added === '') ?? []
  if (offered.length === 0) return null
  return (
    <ul aria-label={t('settings.localFound')} className="flex flex-col gap-2">
      {offered.map((one) => (
        <Offer key={one.baseUrl} server={one} />
      ))}
    </ul>
  )
}

function Offer({ server }: { server: LocalServer }) {
  const { t } = useTranslation()
  const put = usePutProvider()
  const { name, baseUrl, models } = server
  return (
    <li className="flex flex-col gap-2 rounded-md border border-blue/40 bg-blue-soft p-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="flex-1">
          {t('settings.localOffer', { name })} <code className="font-mono text-sm">{baseUrl}</code>
        </span>
        <Button
          changes
          disabled={put.isPending}
          onClick={() =>
            put.mutate({
              name,
              change: { kind: 'openai', baseUrl, models: models.slice(0, 200), local: true },
            })
          }
        >
          {t('settings.addLocal', { name })}
        </Button>
      </div>
      <p className="text-sm break-words text-t3">
        {t('settings.models')}: <Safe text={models.join(', ') || t('common.none')} />
      </p>
      {put.error === null ? null : <ErrorNote error={put.error} />}
    </li>
  )
}
