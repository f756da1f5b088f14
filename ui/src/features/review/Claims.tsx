import { useTranslation } from 'react-i18next'
import { Claimed } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import type { Attempt, Skipped } from '@/domain/model'

/** What the agent says it did, and what of its tree did not get into the work. */
export function Claims({ attempt }: { attempt: Attempt | null }) {
  if (attempt === null) return null
  return (
    <>
      {attempt.summary === '' ? null : <Summary text={attempt.summary} />}
      {attempt.skipped.length === 0 ? null : <SkippedPaths paths={attempt.skipped} />}
    </>
  )
}

function Summary({ text }: { text: string }) {
  const { t } = useTranslation()
  return (
    <section aria-label={t('task.summary')} className="claimed rounded-md p-2">
      <Claimed>{t('task.summary')}</Claimed>
      <p
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        className="mt-1 max-h-40 overflow-y-auto break-words whitespace-pre-wrap"
      >
        <Safe text={text} />
      </p>
    </section>
  )
}

function SkippedPaths({ paths }: { paths: Skipped[] }) {
  const { t } = useTranslation()
  return (
    <details className="text-amber">
      <summary>{t('task.skipped', { count: paths.length, n: paths.length })}</summary>
      <ul className="mt-1 max-h-32 overflow-y-auto pl-4 font-mono text-sm text-t2">
        {paths.map((one) => (
          <li key={one.path}>
            <Safe text={one.path} /> – {one.reason}
          </li>
        ))}
      </ul>
    </details>
  )
}
