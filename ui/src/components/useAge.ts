import { useSyncExternalStore } from 'react'
import { useTranslation } from 'react-i18next'
import { ago, elapsed } from '@/domain/time'
import { subscribeClock } from './clock'

// The snapshot is the text itself: a card renders again when its words change,
// not with every tick.

export function useAge(when: Date): string {
  const { i18n } = useTranslation()
  return useSyncExternalStore(subscribeClock, () => ago(when, new Date(), i18n.language))
}

export function useElapsed(from: Date | null, to: Date | null): string {
  return useSyncExternalStore(subscribeClock, () =>
    from === null ? '' : elapsed(from, to ?? new Date()),
  )
}

/** The time until then; "0 s" once it is over. */
export function useRemaining(until: Date): string {
  return useSyncExternalStore(subscribeClock, () => elapsed(new Date(), until))
}
