import { X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useToasts } from '@/store/toasts'
import { Button } from './Button'
import { cn } from './cn'
import { Safe } from './Safe'

export function Toasts() {
  const { t } = useTranslation()
  const { toasts, dismiss } = useToasts()
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed bottom-10 left-4 z-50 flex w-96 flex-col gap-2"
    >
      {toasts.map((toast) => (
        <div
          key={toast.id}
          className={cn(
            'pointer-events-auto flex items-start gap-2 rounded-md border bg-card px-3 py-2',
            toast.tone === 'red' ? 'border-red' : 'border-line-strong',
          )}
        >
          <div className="min-w-0 flex-1 break-words">
            <p>
              <Safe text={toast.text} />
            </p>
            {toast.hint === '' ? null : (
              <p className="text-t3">
                <Safe text={toast.hint} />
              </p>
            )}
          </div>
          <Button
            look="ghost"
            size="icon"
            aria-label={t('common.close')}
            onClick={() => dismiss(toast.id)}
          >
            <X aria-hidden />
          </Button>
        </div>
      ))}
    </div>
  )
}
