import { type ReactNode, useId } from 'react'
import { cn } from './cn'

type Wire = { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true; className: string }

type Props = {
  label: string
  help?: string | undefined
  error?: string | undefined
  children(wire: Wire): ReactNode
}

const control =
  'w-full rounded-md border border-line-strong bg-inset px-2 py-1 text-base text-t1 min-h-7 aria-invalid:border-red'

/** A label, a control, and below it help or what is wrong with it. */
export function Field({ label, help, error, children }: Props) {
  const id = useId()
  const note = error ?? help
  const wire: Wire = { id, className: control }
  if (note !== undefined) wire['aria-describedby'] = `${id}n`
  if (error !== undefined) wire['aria-invalid'] = true
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium text-t2">
        {label}
      </label>
      {children(wire)}
      {note === undefined ? null : (
        <p
          id={`${id}n`}
          role={error === undefined ? undefined : 'alert'}
          className={cn('text-sm', error === undefined ? 'text-t3' : 'text-red')}
        >
          {note}
        </p>
      )}
    </div>
  )
}
