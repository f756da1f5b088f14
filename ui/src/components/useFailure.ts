import { useTranslation } from 'react-i18next'
import { useToasts } from '@/store/toasts'
import { errorText, nextStep } from './errorText'

/** Tells in a toast what failed and what to do next, where there is no place of its own for it. */
export function useFailure(): (error: Error) => void {
  const { t } = useTranslation()
  const show = useToasts((state) => state.show)
  return (error) => show(errorText(t, error), 'red', nextStep(error))
}
