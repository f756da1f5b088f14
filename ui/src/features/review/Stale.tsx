import { History } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import { type Moved, movedOf } from '@/domain/approve'
import type { Review } from '@/domain/model'

/** An approval that counts as none, and why. */
export function Stale({ review }: { review: Review }) {
  const { t } = useTranslation()
  const words = useMovedWords(review.preview.target)
  const { approved } = review
  if (approved.state !== 'stale') return null
  const what = movedOf(approved.reason)
  return (
    <div
      role="note"
      className="flex items-start gap-2 rounded-md border border-amber/40 bg-amber-soft p-2"
    >
      <History aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
      <div className="min-w-0 break-words">
        <p>{t('review.stale')}</p>
        <p>
          <Safe
            text={what === null ? approved.reason : t('review.changed', { what: words(what) })}
          />{' '}
          {t('review.staleNext')}
        </p>
      </div>
    </div>
  )
}

function useMovedWords(target: string): (what: Moved) => string {
  const { t } = useTranslation()
  return (what) => {
    switch (what) {
      case 'work':
        return t('review.head')
      case 'target':
        return t('review.target', { name: target })
      case 'result':
        return t('review.result')
      case 'gate':
        return t('review.gate')
      case 'acks':
        return t('review.acks')
      case 'hidden':
        return t('review.hidden')
    }
  }
}
