import { CircleAlert, CircleCheck, Eye, EyeOff } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useWitnesses, type Witness } from '@/api/auditWitness'
import { useLastVerify } from '@/api/verify'
import { Age } from '@/components/Age'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { plain } from '@/domain/bidi'
import { count } from '@/domain/time'

/** In the head of the screen, until a verification gives it a line of its own. */
export function WitnessedHead() {
  const report = useLastVerify().data
  return (report?.witnesses.length ?? 0) > 0 ? null : <Witnessed />
}

/** Who last saw the log, and when: what was cut or rewritten since is found by nobody. */
function Witnessed() {
  const { t, i18n } = useTranslation()
  const list = useWitnesses().data
  if (list === undefined) return null
  const bad = list.find((one) => one.diverged)
  if (bad !== undefined)
    return (
      <span role="alert" className="flex min-w-0 items-center gap-1 text-red">
        <CircleAlert aria-hidden className="size-4 shrink-0" />
        <span className="truncate">{t('trace.diverged', { name: bad.name })}</span>
      </span>
    )
  const last = newest(list)
  const Icon = last === undefined ? EyeOff : Eye
  return (
    <span
      className={cn(
        'flex min-w-0 items-center gap-1 text-sm',
        last === undefined ? 'text-amber' : 'text-t3',
      )}
    >
      <Icon aria-hidden className="size-3.5 shrink-0" />
      {last?.at == null ? (
        t('trace.noWitness')
      ) : (
        <span className="truncate">
          {t('trace.witness', { count: last.rows, n: count(last.rows, i18n.language) })}{' '}
          <Name of={last} />, <Age when={last.at} />
        </span>
      )}
    </span>
  )
}

/** One outside of this host says more than the host itself. */
function newest(list: readonly Witness[]): Witness | undefined {
  const worth = (one: Witness) => (one.kind === 'host' ? 0 : (one.at?.getTime() ?? 0))
  return list.filter((one) => !one.off && one.at !== null).sort((a, b) => worth(b) - worth(a))[0]
}

function Name({ of }: { of: { id: string; name: string } }) {
  const { t } = useTranslation()
  const name = of.id === 'host' ? t('trace.thisHost') : of.name
  // Of a path its end tells most; the whole is there to hover and to read aloud.
  return (
    <span title={plain(name)}>
      <Safe text={name.split('/').filter(Boolean).at(-1) ?? name} />
    </span>
  )
}

/** What each witness said when the log was last verified in this window. */
export function WitnessFindings() {
  const { t, i18n } = useTranslation()
  const found = useLastVerify().data?.witnesses ?? []
  if (found.length === 0) return null
  return (
    <div className="flex flex-wrap gap-x-4 gap-y-0.5 border-b border-line px-4 py-1 text-sm">
      <ul aria-label={t('trace.witnesses')} className="flex flex-wrap gap-x-4 gap-y-0.5">
        {found.map((one) => {
          const Icon = one.ok ? CircleCheck : CircleAlert
          return (
            <li key={one.id} className="flex min-w-0 items-center gap-1">
              <Icon aria-hidden className={cn('size-3.5', one.ok ? 'text-green' : 'text-red')} />
              <Name of={one} />
              <span className={one.ok ? 'text-t3' : 'text-red'}>
                {one.problem === ''
                  ? t('trace.agrees', { count: one.rows, n: count(one.rows, i18n.language) })
                  : one.problem}
              </span>
            </li>
          )
        })}
      </ul>
      <Witnessed />
    </div>
  )
}
