import { Clock } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { useRemaining } from '@/components/useAge'

/** How long the request still waits; then it is refused by itself. */
export function TimeLeft({ until }: { until: Date }) {
  const { t } = useTranslation()
  const left = useRemaining(until)
  return (
    <Chip tone="amber" icon={<Clock aria-hidden />} why={t('ask.timeWhy')}>
      {t('ask.timeLeft', { time: left })}
    </Chip>
  )
}
