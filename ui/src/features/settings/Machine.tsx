import { CircleAlert, CircleCheck } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useDoctor, useStatus } from '@/api/status'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { Panel } from './Panel'

export function Machine() {
  const { t } = useTranslation()
  const doctor = useDoctor()
  const status = useStatus().data
  return (
    <Panel title={t('settings.machine')} help={t('settings.machineHelp')}>
      {doctor.isError ? (
        <ErrorNote error={doctor.error} onRetry={() => void doctor.refetch()} />
      ) : null}
      {doctor.isPending ? <SkeletonLines lines={6} /> : null}
      <ul className="divide-y divide-line rounded-md border border-line bg-card">
        {doctor.data?.drivers.map((one) => (
          <Row key={one.name} ok={one.usable} name={`${t('strip.driver')} ${one.name}`}>
            {one.usable ? t('settings.usable') : one.why || t('settings.notUsable')}
            {one.limits.length > 0
              ? ` · ${t('settings.notEnforced')}: ${one.limits.join(', ')}`
              : ''}
          </Row>
        ))}
        {doctor.data?.tools.map((one) => (
          <Row key={one.name} ok={one.found} name={one.name}>
            {one.found ? one.version || t('settings.found') : t('settings.missing')} – {one.need}
            {one.found ? '' : ` ${one.get}`}
          </Row>
        ))}
        {doctor.data?.images.map((one) => (
          <Row key={one.policy} ok={one.ready} name={t('settings.image', { name: one.policy })}>
            {one.ready ? t('settings.imageReady') : t('settings.imageNot')} {one.note}
          </Row>
        ))}
        {status === undefined ? null : (
          <>
            <Row ok name={t('settings.version')}>
              {status.version}
            </Row>
            <Row ok name={t('settings.data')}>
              <code className="font-mono">{status.data}</code>
            </Row>
          </>
        )}
      </ul>
    </Panel>
  )
}

function Row({ ok, name, children }: { ok: boolean; name: string; children: ReactNode }) {
  const Icon = ok ? CircleCheck : CircleAlert
  return (
    <li className="flex gap-3 px-3 py-1.5">
      <span className="flex w-44 shrink-0 items-center gap-2 font-medium">
        <Icon aria-hidden className={ok ? 'size-4 text-green' : 'size-4 text-amber'} />
        {name}
      </span>
      <span className="min-w-0 break-words text-t2">{children}</span>
    </li>
  )
}
