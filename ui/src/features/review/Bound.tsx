import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Measured } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import type { Review } from '@/domain/model'
import { CIChip } from '@/features/ci/CIChip'

/** The statement in words: what a signature would be about, and nothing else. */
export function Bound({ review }: { review: Review }) {
  const { t } = useTranslation()
  const { preview, ci } = review
  return (
    <section aria-label={t('review.bound')} className="rounded-md border border-line bg-card">
      <div className="flex items-center gap-2 border-b border-line px-3 py-1.5">
        <h3 className="flex-1 font-medium">{t('review.bound')}</h3>
        <Measured />
      </div>
      <dl className="px-3 py-1">
        <Row name={t('review.head')}>
          <Oid oid={preview.head} />
        </Row>
        <Row name={t('review.target', { name: preview.target })}>
          <Oid oid={preview.targetOid} />
        </Row>
        <Row name={t('review.result')}>
          <Oid oid={preview.resultTree} />
        </Row>
        <Row name={t('review.gate')}>
          <CIChip state={ci.state} /> {ci.gateHash === '' ? null : <Oid oid={ci.gateHash} />}
        </Row>
        <Row name={t('review.logHead')}>
          <Oid oid={review.logHead} />
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
