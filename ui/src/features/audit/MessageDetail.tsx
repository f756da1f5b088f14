import { type ReactNode, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { useMessage } from '@/api/auditTrace'
import { Chip } from '@/components/Chip'
import { Claimed, Measured, Scripted } from '@/components/Mark'
import { ErrorNote, SkeletonLines } from '@/components/State'
import type { StageRef } from '@/domain/auditCall'
import { type Message, speaker } from '@/domain/auditMessage'
import { type AuditPlace, selected } from '@/domain/auditPlace'
import { full } from '@/domain/time'
import { AttemptFacts, Attempts } from './AttemptFacts'
import { RowLink, Scroll } from './Facts'
import { SpeakerIcon } from './icons'
import { PartView } from './PartView'
import { Proof } from './Proof'

type Props = {
  stage: StageRef
  id: string
  /** The part that is selected, from 1; 0 is none. */
  part: number
  /** The row that led here. */
  seq: number
  go(change: Partial<AuditPlace>): void
}

export function MessageDetail({ stage, id, part, seq, go }: Props) {
  const message = useMessage(stage, id)
  if (message.isPending) return <SkeletonLines lines={10} />
  if (message.isError) {
    // A repeated request has no message of its own: its rows do.
    if (seq > 0) return <RowsOnly seq={seq} />
    return <ErrorNote error={message.error} onRetry={() => void message.refetch()} />
  }
  return <Whole message={message.data} stage={stage} part={part} go={go} />
}

function RowsOnly({ seq }: { seq: number }) {
  const { t } = useTranslation()
  return (
    <Scroll label={t('trace.message')}>
      <p className="text-t3">{t('trace.noMessage')}</p>
      <Proof seqs={[seq]} />
    </Scroll>
  )
}

type WholeProps = { message: Message; stage: StageRef; part: number; go: Props['go'] }

function Whole({ message, stage, part, go }: WholeProps) {
  const { t, i18n } = useTranslation()
  const attempt = message.attempts[message.chosen]
  return (
    <Scroll label={t('trace.message')}>
      <Head message={message} />
      {message.time === null ? null : (
        <p className="flex flex-wrap items-center gap-x-3 text-sm text-t3">
          {full(message.time, i18n.language)}
          {message.seqs.map((one) => (
            <RowLink key={one} seq={one} />
          ))}
        </p>
      )}
      {message.parts.map((one, index) => (
        <Anchor key={partId(message, index)} on={part === index + 1}>
          <PartView
            part={one}
            stage={stage}
            selected={part === index + 1}
            onLink={(id) => go(selected(stage, id))}
          />
        </Anchor>
      ))}
      {message.parts.length === 0 ? (
        <p className="text-t3">{t(message.erased ? 'trace.erasedWhy' : 'trace.noParts')}</p>
      ) : null}
      {attempt === undefined ? null : <AttemptFacts attempt={attempt} />}
      <Attempts message={message} stage={stage} />
      <Proof seqs={message.seqs} />
      <p className="text-sm text-t3">
        <Measured /> {t('trace.passed')}
      </p>
    </Scroll>
  )
}

function partId(message: Message, index: number): string {
  return `${message.id}/${index}`
}

/** Brings what was chosen in the tree into sight. */
function Anchor({ on, children }: { on: boolean; children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (on) ref.current?.scrollIntoView({ block: 'nearest' })
  }, [on])
  return <div ref={ref}>{children}</div>
}

function Head({ message }: { message: Message }) {
  const { t } = useTranslation()
  const who = speaker(message)
  const attempt = message.attempts[message.chosen]
  return (
    <div className="flex flex-wrap items-center gap-2">
      <h2 className="flex items-center gap-2 text-md font-semibold">
        <SpeakerIcon who={who} />
        {t(`trace.speaker.${who}`)}
      </h2>
      {message.claimed ? <Claimed /> : null}
      {attempt?.scripted ? <Scripted /> : null}
      {attempt?.replayed ? <Chip why={t('trace.replayedWhy')}>{t('trace.replayed')}</Chip> : null}
      {message.open ? (
        <Chip tone="blue" why={t('trace.openWhy')}>
          {t('trace.openCall')}
        </Chip>
      ) : null}
      {message.partial ? (
        <Chip tone="amber" why={t('trace.partialWhy')}>
          {t('trace.partial')}
        </Chip>
      ) : null}
      {message.erased ? (
        <Chip tone="amber" why={t('trace.erasedWhy')}>
          {t('trace.erased')}
        </Chip>
      ) : null}
      {attempt?.declined ? (
        <Chip tone="amber" why={t('trace.declinedWhy')}>
          {t('trace.part.declined')}
        </Chip>
      ) : null}
    </div>
  )
}
