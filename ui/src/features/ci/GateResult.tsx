import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { Claimed } from '@/components/Mark'
import { Oid } from '@/components/Oid'
import { Safe } from '@/components/Safe'
import { useElapsed } from '@/components/useAge'
import { stripEscapes } from '@/domain/bidi'
import type { CI } from '@/domain/model'

/** What a result of the gate is bound to. */
export function GateBound({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  const took = useElapsed(ci.started, ci.ended)
  if (ci.resultTree === '') return null
  return (
    <section aria-label={t('ci.bound')} className="shrink-0 rounded-md border border-line bg-card">
      <h4 className="border-b border-line px-3 py-1.5 text-sm font-medium text-t2">
        {t('ci.bound')}
      </h4>
      <dl className="grid grid-cols-2 gap-x-4 px-3 py-1">
        <Pair name={t('ci.resultTree')}>
          <Oid oid={ci.resultTree} />
        </Pair>
        <Pair name={t('ci.head')}>
          <Oid oid={ci.head} />
        </Pair>
        <Pair name={t('ci.target')}>
          <Oid oid={ci.targetOid} />
        </Pair>
        <Pair name={t('ci.gateHash')}>
          <Oid oid={ci.gateHash} />
        </Pair>
        <Pair name={t('ci.image')}>
          <Oid oid={ci.digest.replace('sha256:', '')} />
        </Pair>
        <Pair name={t('ci.took')}>{took}</Pair>
        {ci.ended === null ? null : <Pair name={t('ci.exit')}>{ci.exitCode}</Pair>}
      </dl>
    </section>
  )
}

function Pair({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex h-7 items-center gap-2">
      <dt className="w-28 text-t3">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Files that decide what the gate checks, changed by the work itself. */
export function GateChanged({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  if (ci.changed.length === 0) return null
  return (
    <section className="flex flex-col gap-1 rounded-md border border-amber/40 bg-amber-soft p-3">
      <h4 className="font-medium text-amber">{t('ci.changed')}</h4>
      <p className="text-t2">{t('ci.changedHelp')}</p>
      <ul className="font-mono text-sm">
        {ci.changed.map((path) => (
          <li key={path} className="break-all">
            <Safe text={path} />
          </li>
        ))}
      </ul>
    </section>
  )
}

export function GateLog({ ci }: { ci: CI }) {
  const { t } = useTranslation()
  if (ci.started === null) return null
  return (
    <section className="flex shrink-0 flex-col gap-1">
      <h4 className="flex items-center gap-2 font-medium">
        {t('ci.log')}
        <Claimed />
        {ci.logCut ? (
          <Chip tone="amber" why={t('common.truncatedWhy')}>
            {t('common.truncated')}
          </Chip>
        ) : null}
      </h4>
      <p className="text-sm text-t3">{t('ci.logHelp')}</p>
      <pre
        dir="ltr"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        className="claimed max-h-[480px] min-h-12 overflow-auto rounded-md bg-inset p-3 font-mono text-sm whitespace-pre-wrap"
      >
        {ci.log === '' ? t('ci.noLog') : <Safe text={stripEscapes(ci.log)} />}
      </pre>
    </section>
  )
}
