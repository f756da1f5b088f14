import { useTranslation } from 'react-i18next'
import type { Measure } from '@/domain/auditMetrics'
import type { Grouping } from '@/domain/auditPlace'
import { count } from '@/domain/time'
import { usd } from '@/domain/usd'
import { useNames } from './useNames'

/** A value as people read it. */
export function useMeasureText(): (name: Measure, value: number) => string {
  const { i18n } = useTranslation()
  return (name, value) =>
    name === 'cost' ? usd(value, i18n.language) : count(value, i18n.language)
}

/** What a group is called: a name of the board for a task, a date for a day, else its key. */
export function useKeyName(by: Grouping): (key: string) => string {
  const { t, i18n } = useTranslation()
  const names = useNames()
  return (key) => {
    if (key === '') return t('trace.noKey')
    if (by === 'task') return names.task(key) ?? key
    if (by === 'day')
      return new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium' }).format(new Date(key))
    return key
  }
}
