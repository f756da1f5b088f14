import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Claimed, Measured } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import type { Ask } from '@/domain/ask'
import { ruleText } from '@/domain/operation'
import { bytes } from '@/domain/time'

/** What the gateway saw of the request, and apart from it what the agent wrote. */
export function AskFacts({ ask }: { ask: Ask }) {
  const { t, i18n } = useTranslation()
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-start gap-3">
        <dl className="grid min-w-0 flex-1 grid-cols-[max-content_1fr] gap-x-3 gap-y-0.5 text-sm">
          <Fact name={t('ask.request')}>
            <code className="font-mono break-all">
              {ask.method} <Safe text={ask.target} />
            </code>
          </Fact>
          <Fact name={t('ask.operation')}>
            <code className="font-mono break-all">{ask.operations.join(', ')}</code>
          </Fact>
          {ask.refs.length === 0 ? null : (
            <Fact name={t('ask.refs')}>
              <code className="font-mono break-all">
                <Safe text={ask.refs.join(', ')} />
              </code>
            </Fact>
          )}
          <Fact name={t('ask.rule')}>
            <code className="font-mono break-all">{ruleText(ask.rule)}</code>
          </Fact>
        </dl>
        <Measured />
      </div>
      {ask.bodyBytes === 0 ? null : (
        <details className="text-sm">
          <summary className="text-t2">
            {t('ask.body', { size: bytes(ask.bodyBytes, i18n.language) })} <Claimed />
          </summary>
          {ask.body === '' ? (
            <p className="mt-1 text-t3">{t('ask.noText')}</p>
          ) : (
            <pre
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
              tabIndex={0}
              className="mt-1 max-h-48 overflow-auto rounded-md bg-inset p-2 font-mono break-words whitespace-pre-wrap"
            >
              <Safe text={ask.body} />
            </pre>
          )}
        </details>
      )}
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-t3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </>
  )
}
