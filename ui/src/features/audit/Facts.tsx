import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import { count } from '@/domain/time'

/** Names with what they are; what is empty is left out. */
export function Facts({ pairs }: { pairs: [string, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[minmax(96px,32%)_1fr] gap-x-3 gap-y-1 text-sm">
      {pairs
        .filter(([, value]) => value !== '' && value !== null)
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="break-words text-t3">{name}</dt>
            <dd className="min-w-0 font-mono break-all">
              {typeof value === 'string' ? <Safe text={value} /> : value}
            </dd>
          </div>
        ))}
    </dl>
  )
}

/** A link to a row of the log, by its number. */
export function RowLink({ seq }: { seq: number }) {
  const { t, i18n } = useTranslation()
  return (
    <Link
      to="/audit"
      search={{ view: 'rows', seq }}
      className="whitespace-nowrap text-cyan hover:underline"
    >
      {t('trace.row', { n: count(seq, i18n.language) })}
    </Link>
  )
}

/** A side that scrolls; keys reach it. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      role="group"
      aria-label={label}
      className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-4"
    >
      {children}
    </div>
  )
}
