import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { type RecordKind, recordKinds } from '@/domain/audit'

const tones: Record<RecordKind, 'plain' | 'blue' | 'green' | 'red' | 'amber' | 'cyan' | 'violet'> =
  {
    intent: 'blue',
    outcome: 'plain',
    refusal: 'red',
    admin: 'amber',
    approval: 'green',
    merge: 'green',
    fetch: 'plain',
    system: 'plain',
    ci: 'cyan',
  }

export function KindChip({ kind }: { kind: string }) {
  const { t } = useTranslation()
  const known = recordKinds.find((one) => one === kind)
  if (known === undefined) return <Chip>{kind}</Chip>
  return <Chip tone={tones[known]}>{t(`audit.kinds.${known}`)}</Chip>
}
