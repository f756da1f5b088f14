import { CircleCheck, CircleMinus, CircleX, Scale } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import type { Verdict } from '@/domain/auditMetrics'

const verdicts = {
  improved: [CircleCheck, 'text-green'],
  regressed: [CircleX, 'text-red'],
  mixed: [Scale, 'text-amber'],
  unchanged: [CircleMinus, 'text-t2'],
} as const

export function VerdictMark({ verdict, size }: { verdict: Verdict; size?: 'large' }) {
  const { t } = useTranslation()
  const [Icon, colour] = verdicts[verdict]
  return (
    <span
      data-verdict={verdict}
      className={cn(
        'inline-flex items-center gap-1 align-middle',
        colour,
        size && 'text-lg font-semibold',
      )}
    >
      <Icon aria-hidden className={size ? 'size-5' : 'size-3.5'} />
      {t(`trace.verdict.${verdict}`)}
    </span>
  )
}
