import { useTranslation } from 'react-i18next'
import { type Body, useBodies } from '@/api/audit'
import { Chip } from '@/components/Chip'
import { Safe } from '@/components/Safe'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { prettyBody } from '@/domain/log'
import { bytes } from '@/domain/time'

export function Bodies({ seq }: { seq: number }) {
  const { t } = useTranslation()
  const bodies = useBodies(seq)
  if (bodies.isError)
    return <ErrorNote error={bodies.error} onRetry={() => void bodies.refetch()} />
  if (bodies.isPending) return <SkeletonLines lines={6} />
  return (
    <>
      <BodyText title={t('audit.request')} body={bodies.data.request} />
      <BodyText title={t('audit.response')} body={bodies.data.response} />
    </>
  )
}

/** What passed the gateway, as text: never markup, never fetched from. */
function BodyText({ title, body }: { title: string; body: Body | null }) {
  const { t, i18n } = useTranslation()
  if (body === null) return null
  return (
    <section className="flex flex-col gap-1">
      <h3 className="flex items-center gap-2 font-medium">
        {title}
        <span className="text-sm font-normal text-t3">{bytes(body.size, i18n.language)}</span>
        {body.truncated ? (
          <Chip tone="amber" why={t('common.truncatedWhy')}>
            {t('common.truncated')}
          </Chip>
        ) : null}
      </h3>
      {body.problem === '' ? null : <p className="text-amber">{body.problem}</p>}
      {body.binary ? <p className="text-amber">{t('audit.binary')}</p> : null}
      <pre
        dir="ltr"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        className="max-h-[520px] overflow-auto rounded-md bg-inset p-2 font-mono text-sm break-all whitespace-pre-wrap"
      >
        {body.text === '' ? t('audit.noBody') : <Safe text={prettyBody(body.text)} />}
      </pre>
    </section>
  )
}
