import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CirclePlay,
  Eye,
  GitMerge,
  Hourglass,
  type LucideIcon,
} from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { statusTone } from '@/domain/column'
import type { Status } from '@/domain/model'

const icons: Record<Status, LucideIcon> = {
  draft: CircleDashed,
  queued: Hourglass,
  preparing: Hourglass,
  running: CirclePlay,
  waiting: CirclePause,
  reviewing: Eye,
  merging: GitMerge,
  done: CircleCheck,
  failed: CircleAlert,
  cancelled: Ban,
  stopped: CirclePause,
  skipped: Ban,
  reused: CircleCheck,
}

export function StatusChip({ status }: { status: Status }) {
  const { t } = useTranslation()
  const Icon = icons[status]
  return (
    <Chip tone={statusTone(status)} icon={<Icon aria-hidden />}>
      {t(`status.${status}`)}
    </Chip>
  )
}
