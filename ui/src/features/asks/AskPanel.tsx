import { Hand, X } from 'lucide-react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { operationText } from '@/components/operationText'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import type { Ask, Outcome } from '@/domain/ask'
import { AskFacts } from './AskFacts'
import { AskOutcome } from './AskOutcome'
import { AskTask } from './AskTask'
import { TimeLeft } from './TimeLeft'

type Props = {
  ask: Ask
  outcome: Outcome | null
  linked: boolean
  busy: boolean
  error: Error | null
  onAnswer(allow: boolean): void
  onClose(): void
}

/** One request: what, where, for how long; and a word that lets exactly it go on. */
export function AskPanel({ ask, outcome, linked, busy, error, onAnswer, onClose }: Props) {
  const { t } = useTranslation()
  const id = useId()
  const what = ask.operations.map((name) => operationText(t, name)).join(t('cause.comma'))
  return (
    <section
      aria-labelledby={id}
      className="flex flex-col gap-2 border-b border-amber/40 bg-amber-soft px-4 py-3"
    >
      <div className="flex items-start gap-2">
        <Hand aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
        <div className="min-w-0 flex-1">
          <h3 id={id} className="font-semibold break-words">
            <Safe
              text={t(ask.task === null ? 'ask.program' : 'ask.agent', {
                what,
                upstream: ask.upstream,
              })}
            />
          </h3>
          {linked ? <AskTask task={ask.task} name={ask.agent} /> : null}
        </div>
        {outcome === null ? (
          <TimeLeft until={ask.expires} />
        ) : (
          <Button look="ghost" size="mini" aria-label={t('common.close')} onClick={onClose}>
            <X aria-hidden />
          </Button>
        )}
      </div>
      <AskFacts ask={ask} />
      {error === null || outcome !== null ? null : <ErrorNote error={error} />}
      {outcome === null ? (
        <div className="flex flex-wrap items-center gap-2">
          <Button changes disabled={busy} onClick={() => onAnswer(false)}>
            {t('ask.refuse')}
          </Button>
          <Button changes disabled={busy} onClick={() => onAnswer(true)}>
            {t('ask.allow')}
          </Button>
          <p className="text-sm text-t2">{t('ask.once')}</p>
        </div>
      ) : (
        <AskOutcome outcome={outcome} />
      )}
    </section>
  )
}
