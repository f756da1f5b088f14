import { useTranslation } from 'react-i18next'
import { full } from '@/domain/time'
import { useAge } from './useAge'

export function Age({ when }: { when: Date }) {
  const { i18n } = useTranslation()
  return (
    <time dateTime={when.toISOString()} title={full(when, i18n.language)}>
      {useAge(when)}
    </time>
  )
}
