import { BadgeCheck, MessageCircleDashed } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Tip } from './Tip'

/** Dotted: an agent said it. */
export function Claimed({ children }: { children?: ReactNode }) {
  const { t } = useTranslation()
  return (
    <Tip text={t('common.claimedWhy')}>
      <span className="claimed inline-flex h-5 items-center gap-1 rounded-sm px-1.5 text-xs text-t3">
        <MessageCircleDashed aria-hidden className="size-3" />
        {children ?? t('common.claimed')}
      </span>
    </Tip>
  )
}

/** A check: moeca measured it outside the sandbox. */
export function Measured({ children }: { children?: ReactNode }) {
  const { t } = useTranslation()
  return (
    <Tip text={t('common.measuredWhy')}>
      <span className="inline-flex h-5 shrink-0 items-center gap-1 text-xs whitespace-nowrap text-t2">
        <BadgeCheck aria-label={t('common.measured')} className="size-3 text-cyan" />
        {children ?? t('common.measured')}
      </span>
    </Tip>
  )
}

export function Scripted() {
  const { t } = useTranslation()
  return (
    <Tip text={t('common.scriptedWhy')}>
      <span className="inline-flex h-5 items-center rounded-sm border border-violet/40 px-1.5 text-xs font-medium text-violet">
        {t('common.scripted')}
      </span>
    </Tip>
  )
}
