import { TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './Button'
import { cn } from './cn'
import { errorText, nextStep } from './errorText'

/** A grey shape where content will be. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={cn('animate-pulse rounded-md bg-hover', className)} />
}

export function SkeletonLines({ lines }: { lines: number }) {
  const { t } = useTranslation()
  return (
    <div
      role="status"
      data-loading
      aria-label={t('common.loading')}
      className="flex flex-col gap-2 p-4"
    >
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same
        <Skeleton key={line} className={cn('h-4', line % 3 === 2 ? 'w-1/2' : 'w-full')} />
      ))}
    </div>
  )
}

/** Nothing there yet, and what to do about it. */
export function Empty({
  title,
  help,
  children,
}: {
  title: string
  help?: string
  children?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="text-md font-medium text-t2">{title}</p>
      {help === undefined ? null : <p className="max-w-md text-base text-t3">{help}</p>}
      {children === undefined ? null : <div className="mt-2 flex gap-2">{children}</div>}
    </div>
  )
}

/** An error on the object it belongs to: cause, next step, try again. */
export function ErrorNote({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const { t } = useTranslation()
  const next = nextStep(error)
  return (
    <div
      role="alert"
      className="m-3 flex items-start gap-2 rounded-md border border-red/40 bg-red-soft p-3"
    >
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-red" />
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p className="font-medium break-words">{errorText(t, error)}</p>
        {next === '' ? null : <p className="break-words text-t2">{next}</p>}
      </div>
      {onRetry === undefined ? null : (
        <Button size="small" onClick={onRetry}>
          {t('common.retry')}
        </Button>
      )}
    </div>
  )
}
