import { Link } from '@tanstack/react-router'
import { CircleCheck, CircleSlash, Clock } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import type { Outcome } from '@/domain/ask'

/** What happened after the answer. */
export function AskOutcome({ outcome }: { outcome: Outcome }) {
  const { t } = useTranslation()
  if (outcome.kind === 'over') {
    return (
      <p role="status" className="flex items-start gap-2">
        <Clock aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
        <span>
          {t('ask.over')} <Safe text={outcome.message} />
        </span>
      </p>
    )
  }
  const Icon = outcome.allow ? CircleCheck : CircleSlash
  return (
    <p role="status" className="flex items-start gap-2 font-medium">
      <Icon
        aria-hidden
        className={`mt-0.5 size-4 shrink-0 ${outcome.allow ? 'text-green' : 'text-red'}`}
      />
      <span>
        {t(outcome.allow ? 'ask.allowed' : 'ask.refused')}{' '}
        <Link to="/audit" search={{ seq: outcome.seq }} className="text-cyan underline">
          {t('ask.row', { seq: outcome.seq })}
        </Link>
      </span>
    </p>
  )
}
