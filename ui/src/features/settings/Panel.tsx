import { type ReactNode, useId } from 'react'

type Props = { title: string; help?: string; action?: ReactNode; children: ReactNode }

export function Panel({ title, help, action, children }: Props) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3">
      <div className="flex items-end gap-3 border-b border-line pb-2">
        <div className="flex-1">
          <h2 id={id} className="text-md font-semibold">
            {title}
          </h2>
          {help === undefined ? null : <p className="text-t3">{help}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  )
}
