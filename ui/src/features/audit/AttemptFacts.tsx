import { useTranslation } from 'react-i18next'
import { Measured } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import type { StageRef } from '@/domain/auditCall'
import { type Attempt, type Message, readTokens } from '@/domain/auditMessage'
import { duration } from '@/domain/auditMetrics'
import { count } from '@/domain/time'
import { usd } from '@/domain/usd'
import { Facts, RowLink } from './Facts'
import { PartView } from './PartView'

/** The exchange behind an answer: what it took and how it ended. */
export function AttemptFacts({ attempt }: { attempt: Attempt }) {
  const { t, i18n } = useTranslation()
  const n = (value: number) => (value === 0 ? '' : count(value, i18n.language))
  const read = readTokens(attempt)
  const metered = read + attempt.output > 0
  return (
    <section className="flex flex-col gap-1">
      <h3 className="flex items-center gap-2 font-medium">
        {t('trace.exchange')} <Measured />
      </h3>
      {attempt.gate === '' ? null : (
        <p className="rounded-md border border-red/40 bg-red-soft p-2 break-words text-red">
          {t('audit.denied')}: {t('audit.gate')} {attempt.gate} – <Safe text={attempt.reason} />
        </p>
      )}
      {attempt.error === '' ? null : (
        <p className="rounded-md border border-red/40 bg-red-soft p-2 break-words text-red">
          <Safe text={attempt.error} />
        </p>
      )}
      <Facts
        pairs={[
          [t('audit.model'), attempt.model],
          [t('audit.upstream'), attempt.upstream],
          [t('audit.what'), [attempt.method, attempt.target].filter(Boolean).join(' ')],
          [t('audit.result'), [n(attempt.status), attempt.result].filter(Boolean).join(' ')],
          [t('trace.stop'), attempt.stop],
          [t('audit.duration'), attempt.open ? '' : duration(attempt.durationUs, i18n.language)],
          [t('trace.read'), metered ? count(read, i18n.language) : ''],
          [t('trace.fromCache'), n(attempt.cacheRead)],
          [t('trace.toCache'), n(attempt.cacheWrite)],
          [t('trace.written'), metered ? count(attempt.output, i18n.language) : ''],
          [t('trace.reasoning'), n(attempt.reasoning)],
          [t('trace.cost'), metered ? usd(attempt.cost, i18n.language) : ''],
        ]}
      />
    </section>
  )
}

/** The other times the same was asked, and what they brought. */
export function Attempts({ message, stage }: { message: Message; stage: StageRef }) {
  const { t } = useTranslation()
  const others = message.attempts.filter((_, index) => index !== message.chosen)
  if (others.length === 0) return null
  return (
    <section className="flex flex-col gap-2">
      <h3 className="font-medium">
        {t('trace.attempts', { count: others.length, n: others.length })}
      </h3>
      {others.map((attempt) => (
        <div key={attempt.seq} className="flex flex-col gap-2 rounded-md border border-line p-2">
          <RowLink seq={attempt.seq} />
          <AttemptFacts attempt={attempt} />
          {attempt.parts.map((part, index) => (
            <PartView
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of an attempt never change places
              key={index}
              part={{ ...part, link: '' }}
              stage={stage}
              selected={false}
              onLink={() => undefined}
            />
          ))}
        </div>
      ))}
    </section>
  )
}
