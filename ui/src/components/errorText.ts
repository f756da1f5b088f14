import type { TFunction } from 'i18next'

/** What went wrong, in a sentence, also where nobody could say it. */
export function errorText(t: TFunction, error: Error): string {
  return error.message || t(error.name === 'Unreachable' ? 'error.network' : 'error.title')
}

/** What to do next, where the host knows it. */
export function nextStep(error: Error): string {
  return 'next' in error && typeof error.next === 'string' ? error.next : ''
}
