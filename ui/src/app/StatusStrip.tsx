import { Link } from '@tanstack/react-router'
import { CircleAlert, ShieldCheck, ShieldQuestion, Wifi, WifiOff } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { lastContact } from '@/api/contact'
import { type HostStatus, useStatus } from '@/api/status'
import { useTasks } from '@/api/tasks'
import { useLastVerify } from '@/api/verify'
import { Age } from '@/components/Age'
import { Chip } from '@/components/Chip'
import { cn } from '@/components/cn'
import { Scripted } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import { Tip } from '@/components/Tip'
import { isLive } from '@/domain/column'
import { count, full } from '@/domain/time'
import { useWindow } from '@/store/window'

export function StatusStrip() {
  const { t, i18n } = useTranslation()
  const online = useWindow((state) => state.online)
  // Nothing is said of a host that does not answer.
  const known = useStatus().data
  const status = online ? known : undefined
  const scripted = useTasks().data?.some((task) => task.scripted && isLive(task.status)) ?? false
  return (
    <footer className="flex h-7 shrink-0 items-center gap-4 overflow-hidden border-t border-line bg-panel px-3 text-xs whitespace-nowrap text-t3">
      {online ? (
        <span className="flex items-center gap-1 text-green">
          <Wifi aria-hidden className="size-3" /> {t('strip.live')}
        </span>
      ) : (
        <>
          <Chip tone="red" why={t('common.offlineWhy')} icon={<WifiOff aria-hidden />}>
            {t('common.offline')}
          </Chip>
          <span>{t('common.lastContact', { time: full(lastContact(), i18n.language) })}</span>
        </>
      )}
      {status === undefined ? null : (
        <>
          <Driver status={status} />
          <Log status={status} />
          {status.demo ? <Chip tone="violet">{t('strip.demo')}</Chip> : null}
        </>
      )}
      {scripted && online ? <Scripted /> : null}
      <span className="ml-auto">{status?.version}</span>
    </footer>
  )
}

function Driver({ status }: { status: HostStatus }) {
  const { t } = useTranslation()
  if (status.driver === '' || status.driver === 'none') {
    return (
      <Link
        to="/settings/$panel"
        params={{ panel: 'machine' }}
        className="text-red hover:underline"
      >
        {t('strip.noDriver')}
      </Link>
    )
  }
  const text = `${t('strip.driver')}: ${status.driver}`
  return (
    <span className="flex min-w-0 items-center gap-2">
      <span>{text}</span>
      {status.isolation === '' ? null : (
        <Chip tone="amber" why={`${t('common.unprovenWhy')} ${status.driverNote}`}>
          {t('strip.isolation')}:{' '}
          {/not proven/.test(status.isolation) ? t('common.unproven') : status.isolation}
        </Chip>
      )}
      {status.driverNote === '' ? null : (
        <Tip text={status.driverNote}>
          <span className="max-w-72 truncate">{status.driverNote}</span>
        </Tip>
      )}
    </span>
  )
}

function Log({ status }: { status: HostStatus }) {
  const { t, i18n } = useTranslation()
  const report = useLastVerify().data
  if (!status.gatewayOk) {
    return (
      <span className="flex items-center gap-1 text-red">
        <CircleAlert aria-hidden className="size-3" />
        {t('strip.gatewayDown')} {status.gatewayCause}
      </span>
    )
  }
  const bad = report?.ok === false
  const Icon = report?.ok === true ? ShieldCheck : ShieldQuestion
  return (
    <Link to="/audit" className="flex items-center gap-2 hover:text-t1">
      {t('strip.head')} <Oid oid={status.head} />
      {t('strip.records', { count: status.records, n: count(status.records, i18n.language) })}
      {status.restarted === undefined ? null : (
        <span>{t('strip.restarted', { time: full(status.restarted, i18n.language) })}</span>
      )}
      <span
        className={cn('flex items-center gap-1', report?.ok && 'text-green', bad && 'text-red')}
      >
        <Icon aria-hidden className="size-3" />
        {report?.ok ? t('strip.verifyOk') : bad ? t('strip.verifyBroken') : t('strip.unverified')}
      </span>
      {status.witness === undefined ? null : (
        <Tip text={status.witness.name}>
          <span className={cn(status.witness.stale && 'text-amber')}>
            {t('strip.witnessed')} <Age when={status.witness.at} />
          </span>
        </Tip>
      )}
    </Link>
  )
}
