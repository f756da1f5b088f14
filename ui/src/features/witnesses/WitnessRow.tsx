import { CircleAlert, CircleCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePutWitness, useRemoveWitness, type Witness } from '@/api/auditWitness'
import { Age } from '@/components/Age'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import { Sure } from '@/components/Sure'
import { plain } from '@/domain/bidi'
import { count } from '@/domain/time'
import { useToasts } from '@/store/toasts'

const kinds = ['host', 'file', 'repo', 'url'] as const

export function WitnessRow({ witness }: { witness: Witness }) {
  const { t } = useTranslation()
  const kind = kinds.find((one) => one === witness.kind)
  return (
    <li className="flex flex-col gap-1.5 rounded-md border border-line bg-card p-3">
      <div className="flex flex-wrap items-center gap-2">
        <Chip>{kind === undefined ? witness.kind : t(`witness.kind.${kind}`)}</Chip>
        <span className="min-w-0 font-medium break-all">
          {kind === 'host' ? t('witness.ownMemory') : <Safe text={witness.name} />}
        </span>
        {witness.off ? <Chip>{t('witness.off')}</Chip> : <Finding of={witness} />}
        <Change of={witness} />
      </div>
      {witness.off ? null : <Seen of={witness} />}
      {witness.problem === '' ? null : (
        <p className={witness.diverged ? 'text-red' : 'text-amber'}>
          {witness.diverged ? null : `${t('witness.notSince')}: `}
          <Safe text={witness.problem} />
        </p>
      )}
      {witness.note === '' ? null : (
        <p className="text-sm text-t3">
          <Safe text={witness.note} />
        </p>
      )}
    </li>
  )
}

function Finding({ of }: { of: Witness }) {
  const { t } = useTranslation()
  if (of.diverged)
    return (
      <Chip tone="red" icon={<CircleAlert aria-hidden />}>
        {t('witness.diverged')}
      </Chip>
    )
  if (of.problem !== '' || of.at === null) return null
  return (
    <Chip tone="green" icon={<CircleCheck aria-hidden />}>
      {t('witness.agrees')}
    </Chip>
  )
}

function Seen({ of }: { of: Witness }) {
  const { t, i18n } = useTranslation()
  if (of.at === null) {
    const later = of.kind === 'repo' && of.problem === ''
    return <p className="text-sm text-t3">{t(later ? 'witness.fromMerge' : 'witness.never')}</p>
  }
  return (
    <p className="text-sm text-t3">
      {t('witness.saw', { count: of.rows, n: count(of.rows, i18n.language) })}
      <Age when={of.at} />
    </p>
  )
}

/** A repository is switched; a file and an address are removed; the host is itself. */
function Change({ of }: { of: Witness }) {
  const { t } = useTranslation()
  const put = usePutWitness()
  const remove = useRemoveWitness()
  const show = useToasts((state) => state.show)
  const name = plain(of.name)
  if (of.kind === 'host') return null
  const error = put.error ?? remove.error
  return (
    <>
      <span className="ml-auto">
        {of.kind === 'repo' ? (
          <Button
            size="small"
            changes
            disabled={put.isPending}
            onClick={() =>
              put.mutate(
                { kind: 'repo', repo: of.id.replace(/^repo:/, ''), off: !of.off },
                { onSuccess: () => show(t('witness.saved', { name })) },
              )
            }
          >
            {t(of.off ? 'witness.turnOn' : 'witness.turnOff', { name })}
          </Button>
        ) : (
          <Sure
            label={t('witness.removeOf', { name })}
            question={t('witness.removeAsk')}
            busy={remove.isPending}
            onYes={() =>
              remove.mutate(of.id, { onSuccess: () => show(t('witness.removed', { name })) })
            }
          >
            {t('witness.remove')}
          </Sure>
        )}
      </span>
      {error === null ? null : <ErrorNote error={error} />}
    </>
  )
}
