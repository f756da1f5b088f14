import {
  CircleAlert,
  CircleDashed,
  CircleSlash,
  History,
  LoaderCircle,
  type LucideIcon,
  ShieldAlert,
  ShieldCheck,
} from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import type { Tone } from '@/domain/column'
import type { CIState } from '@/domain/model'

const looks: Record<CIState, { icon: LucideIcon; tone: Tone }> = {
  none: { icon: CircleSlash, tone: 'plain' },
  pending: { icon: CircleDashed, tone: 'plain' },
  running: { icon: LoaderCircle, tone: 'blue' },
  passed: { icon: ShieldCheck, tone: 'green' },
  passed_gate_changed: { icon: ShieldAlert, tone: 'amber' },
  failed: { icon: CircleAlert, tone: 'red' },
  stale: { icon: History, tone: 'amber' },
  error: { icon: CircleAlert, tone: 'red' },
}

export function CIChip({ state }: { state: CIState }) {
  const { t } = useTranslation()
  const { icon: Icon, tone } = looks[state]
  return (
    <Chip tone={tone} icon={<Icon aria-hidden />}>
      {t(`ci.${state}`)}
    </Chip>
  )
}
