import { History } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import { boundNow, type Moved, moved } from '@/domain/approve'
import type { Review } from '@/domain/model'

/** An approval that counts as none, and why. */
export function Stale({ review }: { review: Review }) {
  const { t, i18n } = useTranslation()
  const words = useMovedWords(review)
  const { approved } = review
  if (approved.state !== 'stale') return null
  const what = [...new Set(moved(approved.approval.bound, boundNow(review)).map(words))]
  const list = new Intl.ListFormat(i18n.language, { type: 'conjunction' }).format(what)
  return (
    <div
      role="note"
      className="flex items-start gap-2 rounded-md border border-amber/40 bg-amber-soft p-2"
    >
      <History aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
      <div className="min-w-0 break-words">
        <p>{t('review.stale', { seq: approved.approval.seq })}</p>
        <p>
          {what.length === 0 ? (
            <Safe text={approved.reason} />
          ) : (
            t('review.changed', { what: list })
          )}{' '}
          {t('review.staleNext')}
        </p>
      </div>
    </div>
  )
}

function useMovedWords(review: Review): (what: Moved) => string {
  const { t } = useTranslation()
  return (what) => {
    switch (what) {
      case 'head':
        return t('review.head')
      case 'target':
      case 'targetOid':
        return t('review.target', { name: review.preview.target })
      case 'resultTree':
        return t('review.result')
      case 'gateHash':
      case 'ciState':
        return t('review.gate')
    }
  }
}
