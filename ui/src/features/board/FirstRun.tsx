import { Link } from '@tanstack/react-router'
import { CircleAlert, CircleCheck, CirclePlay, FolderPlus, KeyRound } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useProviders } from '@/api/providers'
import { useStatus } from '@/api/status'
import { Button } from '@/components/Button'
import { useDialogs } from '@/store/dialogs'
import { useWindow } from '@/store/window'
import { useDemo } from './useDemo'

/** The empty board: what was found on this machine, and the first thing to do. */
export function FirstRun() {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const demo = useDemo()
  return (
    <div className="m-auto flex w-[520px] max-w-full flex-col gap-4 p-6">
      <div className="flex flex-col gap-1">
        <h2 className="text-lg font-semibold">{t('first.title')}</h2>
        <p className="text-md text-t2">{t('first.help')}</p>
      </div>
      <Found />
      <div className="flex flex-wrap gap-2">
        <Button look="solid" onClick={() => show({ kind: 'repo', repo: null })}>
          <FolderPlus aria-hidden />
          {t('rail.addRepo')}
        </Button>
        <Button changes disabled={demo.busy} onClick={demo.begin}>
          <CirclePlay aria-hidden />
          {t('first.demo')}
        </Button>
        <Link
          to="/settings"
          className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-card px-2.5 font-medium hover:bg-hover"
        >
          <KeyRound aria-hidden className="size-3.5" />
          {t('first.settings')}
        </Link>
      </div>
      <p className="text-t3">{t('first.demoHelp')}</p>
    </div>
  )
}

function Found() {
  const { t } = useTranslation()
  const { data: status } = useStatus()
  const { data: providers } = useProviders()
  const online = useWindow((state) => state.online)
  const keys = providers?.filter((provider) => provider.hasSecret && !provider.scripted).length ?? 0
  const driver = status?.driver ?? ''
  return (
    <dl className="divide-y divide-line rounded-md border border-line bg-card">
      <Row name={t('first.driver')} ok={online && driver !== '' && driver !== 'none'}>
        {driver} {status?.driverNote}
      </Row>
      <Row name={t('first.gateway')} ok={online && status?.gatewayOk === true}>
        {!online
          ? t('common.offline')
          : status?.gatewayOk === true
            ? t('first.ready')
            : status?.gatewayCause}
      </Row>
      <Row name={t('first.provider')} ok>
        {keys === 0 ? t('first.noKey') : t('first.hasKey', { count: keys, n: keys })}
      </Row>
    </dl>
  )
}

function Row({ name, ok, children }: { name: string; ok: boolean; children: ReactNode }) {
  const Icon = ok ? CircleCheck : CircleAlert
  return (
    <div className="flex gap-3 px-3 py-2">
      <dt className="flex w-40 shrink-0 items-center gap-2 font-medium text-t2">
        <Icon aria-hidden className={ok ? 'size-4 text-green' : 'size-4 text-amber'} />
        {name}
      </dt>
      <dd className="min-w-0 break-words text-t2">{children}</dd>
    </div>
  )
}
