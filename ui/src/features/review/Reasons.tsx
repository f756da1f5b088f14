import { Lock } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import { blockerCodes, type Reason } from '@/domain/approve'
import { useAckWords } from './Acks'

/**
 * Where the code has words of its own, the host's sentence would say the same
 * again; what follows its colon is the fact: paths, an exit code, a cause.
 */
function factsOf(reason: { code: string; message: string }): string {
  switch (reason.code) {
    case 'run_failed':
    case 'conflict':
    case 'ci_error':
    case 'ci_failed': {
      const colon = reason.message.indexOf(': ')
      return colon < 0 ? '' : reason.message.slice(colon + 2)
    }
    default:
      return ''
  }
}

/** Why the button is locked: every reason, in words. */
export function Reasons({ id, reasons }: { id: string; reasons: Reason[] }) {
  const { t } = useTranslation()
  const words = useAckWords()
  const known = (code: string) => blockerCodes.find((one) => one === code)
  const text = (reason: Reason): string => {
    if (reason.kind === 'ack') return t('review.blockerAck', { what: words(reason.code) })
    const code = known(reason.code)
    return code === undefined ? reason.message || reason.code : t(`review.blocker.${code}`)
  }
  const detail = (reason: Reason): string => (reason.kind === 'blocker' ? factsOf(reason) : '')
  return (
    <div id={id} className="rounded-md border border-line-strong bg-card p-3">
      <p className="flex items-center gap-2 font-medium">
        <Lock aria-hidden className="size-4 text-amber" />
        {t('review.reasons')}
      </p>
      <ul className="mt-1 list-disc pl-6 text-t2">
        {reasons.map((reason) => (
          <li key={`${reason.kind}${reason.code}`} className="break-words">
            <Safe text={text(reason)} />{' '}
            <span className="text-sm text-t3">
              <Safe text={detail(reason)} />
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
