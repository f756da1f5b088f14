import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Measured } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import { boundNow } from '@/domain/approve'
import type { Review } from '@/domain/model'
import { CIChip } from '@/features/ci/CIChip'

/**
 * The statement in words, and nothing else: what was signed where an approval
 * holds, else what a signature given now would be about.
 */
export function Bound({ review }: { review: Review }) {
  const { t } = useTranslation()
  const held = review.approved.state === 'holds' ? review.approved.approval : null
  const bound = held?.bound ?? boundNow(review)
  const title = held === null ? t('review.bound') : t('review.boundHeld')
  return (
    <section aria-label={title} className="rounded-md border border-line bg-card">
      <div className="flex items-center gap-3 border-b border-line px-3 py-1.5">
        <h3 className="flex-1 font-medium">{title}</h3>
        {held === null ? null : (
          <Link to="/audit" search={{ seq: held.seq }} className="text-cyan hover:underline">
            {t('review.approvedRow', { seq: held.seq })}
          </Link>
        )}
        <Measured />
      </div>
      <dl className="px-3 py-1">
        <Row name={t('review.head')}>
          <Oid oid={bound.head} />
        </Row>
        <Row name={t('review.target', { name: bound.target })}>
          <Oid oid={bound.targetOid} />
        </Row>
        <Row name={t('review.result')}>
          <Oid oid={bound.resultTree} />
        </Row>
        <Row name={t('review.gate')}>
          <CIChip state={bound.ciState} />{' '}
          {bound.gateHash === '' ? null : <Oid oid={bound.gateHash} />}
        </Row>
        <Row name={t('review.logHead')}>
          <Oid oid={bound.logHead} />
        </Row>
      </dl>
      <p className="border-t border-line px-3 py-1.5 text-sm text-t3">{t('review.boundHelp')}</p>
    </section>
  )
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-7 items-center gap-2">
      <dt className="w-48 shrink-0 truncate text-t3">{name}</dt>
      <dd className="flex flex-wrap items-center gap-1">{children}</dd>
    </div>
  )
}
