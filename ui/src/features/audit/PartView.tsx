import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMessage } from '@/api/auditTrace'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { ErrorNote, SkeletonLines } from '@/components/State'
import type { StageRef } from '@/domain/auditCall'
import { type Part, partBody, partner } from '@/domain/auditMessage'
import { bytes, count } from '@/domain/time'
import { PartIcon } from './icons'

type Props = {
  part: Part
  stage: StageRef
  selected: boolean
  onLink(message: string): void
}

/** A left edge tells kinds apart beside their icon and word. */
const edges: Partial<Record<Part['kind'], string>> = {
  thinking: 'border-violet',
  'tool-use': 'border-blue',
  'server-tool-use': 'border-blue',
  'tool-result': 'border-cyan',
  'server-tool-result': 'border-cyan',
  declined: 'border-amber',
  raw: 'border-amber',
  error: 'border-red',
}

export function PartView({ part, stage, selected, onLink }: Props) {
  const { t } = useTranslation()
  return (
    <section
      data-part={part.kind}
      className={cn(
        'flex flex-col gap-1 border-l-2 pl-3',
        part.error ? 'border-red' : (edges[part.kind] ?? 'border-line-strong'),
        selected && 'rounded-sm bg-hover py-1',
      )}
    >
      <h3 className="flex flex-wrap items-center gap-1.5 text-sm font-medium">
        <PartIcon kind={part.kind} failed={part.error} />
        {t(`trace.part.${part.kind}`)}
        {part.name === '' ? null : (
          <code className="font-mono break-all">
            <Safe text={part.name} />
          </code>
        )}
        <Marks part={part} />
      </h3>
      <Content part={part} />
      {part.link === '' ? null : <Linked part={part} stage={stage} onLink={onLink} />}
    </section>
  )
}

function Marks({ part }: { part: Part }) {
  const { t } = useTranslation()
  return (
    <>
      {part.error ? <Chip tone="red">{t('trace.toolFailed')}</Chip> : null}
      {part.unanswered ? (
        <Chip tone="amber" why={t('trace.unansweredWhy')}>
          {t('trace.unanswered')}
        </Chip>
      ) : null}
      {part.redacted ? (
        <Chip tone="violet" why={t('trace.redactedWhy')}>
          {t('trace.redacted')}
        </Chip>
      ) : null}
      {part.partial ? (
        <Chip tone="amber" why={t('trace.partialWhy')}>
          {t('trace.partial')}
        </Chip>
      ) : null}
      {part.choice > 0 ? <Chip>{t('trace.choice', { n: part.choice + 1 })}</Chip> : null}
    </>
  )
}

const shown = 6000

/** Always text: never markup, never fetched from. */
function Content({ part }: { part: Part }) {
  const { t, i18n } = useTranslation()
  const [all, setAll] = useState(false)
  const body = partBody(part)
  const long = body.length > shown
  const prose = part.kind === 'text' || part.kind === 'thinking' || part.kind === 'declined'
  if (part.raw !== '' && body === '')
    return (
      <p className="text-sm text-t3">
        <Safe text={[part.filename, part.mediaType].filter(Boolean).join(' · ')} />{' '}
        {bytes(Math.floor((part.raw.length * 3) / 4), i18n.language)} · {t('trace.notShown')}
      </p>
    )
  if (body === '') return <p className="text-sm text-t3">{t('trace.emptyPart')}</p>
  return (
    <>
      <div
        dir="ltr"
        className={cn(
          'break-words whitespace-pre-wrap',
          prose ? 'text-md' : 'rounded-md bg-inset p-2 font-mono text-sm break-all',
          part.kind === 'thinking' && 'text-t2 italic',
        )}
      >
        <Safe text={long && !all ? body.slice(0, shown) : body} />
      </div>
      {long && !all ? (
        <Button size="small" className="self-start" onClick={() => setAll(true)}>
          {t('trace.showAll', { n: count(body.length, i18n.language) })}
        </Button>
      ) : null}
    </>
  )
}

/** What a tool gave back, or what it was asked: in another message, shown here. */
function Linked({ part, stage, onLink }: Pick<Props, 'part' | 'stage' | 'onLink'>) {
  const { t } = useTranslation()
  const use = part.kind === 'tool-use' || part.kind === 'server-tool-use'
  const [open, setOpen] = useState(use)
  const message = useMessage(stage, open ? part.link : '')
  const other = message.data === undefined ? undefined : partner(part, message.data)
  return (
    <div className="flex flex-col gap-1">
      <div className="flex gap-2">
        <Button size="small" look="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
          {t(use ? 'trace.result' : 'trace.use')}
        </Button>
        <Button size="small" look="ghost" onClick={() => onLink(part.link)}>
          {t('trace.goThere')}
        </Button>
      </div>
      {!open ? null : message.isError ? (
        <ErrorNote error={message.error} />
      ) : message.isPending ? (
        <SkeletonLines lines={2} />
      ) : other === undefined ? (
        <p className="text-sm text-t3">{t('trace.noPartner')}</p>
      ) : (
        <div className={cn('border-l-2 pl-2', other.error ? 'border-red' : 'border-cyan')}>
          {other.error ? <Chip tone="red">{t('trace.toolFailed')}</Chip> : null}
          <Content part={other} />
        </div>
      )}
    </div>
  )
}
