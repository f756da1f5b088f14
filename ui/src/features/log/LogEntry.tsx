import {
  Brain,
  CircleAlert,
  Flag,
  Info,
  type LucideIcon,
  MessageSquare,
  Terminal,
  Wrench,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { stripEscapes } from '@/domain/bidi'
import { callTitle, type Entry, type LogItem, pretty } from '@/domain/log'
import { clock } from '@/domain/time'

export function LogEntry({ entry }: { entry: Entry }) {
  const { t } = useTranslation()
  switch (entry.kind) {
    case 'call':
      return <Call call={entry.call} result={entry.result} />
    case 'text':
      return (
        <Line icon={MessageSquare} item={entry.item}>
          <Prose text={entry.item.text} />
        </Line>
      )
    case 'thinking':
      return (
        <Line icon={Brain} item={entry.item}>
          <details>
            <summary className="text-t3">{t('log.thinking')}</summary>
            <Prose text={entry.item.text} />
          </details>
        </Line>
      )
    case 'note':
      return (
        <Line icon={Info} item={entry.item} label={t('log.note')}>
          <Prose text={entry.item.text} />
        </Line>
      )
    case 'output':
      return (
        <Line icon={Terminal} item={entry.item} label={t('log.output')}>
          <Mono text={entry.text} />
        </Line>
      )
    case 'done':
      return (
        <Line
          icon={entry.item.error ? CircleAlert : Flag}
          item={entry.item}
          label={entry.item.error ? `${t('log.failed')} ${entry.item.cause}` : t('log.done')}
          bad={entry.item.error}
        >
          <Prose text={entry.item.text} />
        </Line>
      )
  }
}

type LineProps = {
  icon: LucideIcon
  item: LogItem
  label?: string
  bad?: boolean
  children: ReactNode
}

function Line({ icon: Icon, item, label, bad = false, children }: LineProps) {
  const { t, i18n } = useTranslation()
  return (
    <div className="flex gap-2 border-b border-line px-4 py-1.5">
      <Icon aria-hidden className={cn('mt-1 size-3.5 shrink-0', bad ? 'text-red' : 'text-t3')} />
      <div className="min-w-0 flex-1">
        {label === undefined ? null : (
          <span className={cn('text-xs', bad ? 'text-red' : 'text-t3')}>{label}</span>
        )}
        {children}
        {item.cut ? (
          <Chip tone="amber" why={t('log.cutWhy')}>
            {t('log.cut')}
          </Chip>
        ) : null}
      </div>
      <time className="shrink-0 text-xs text-t4" dateTime={item.time.toISOString()}>
        {clock(item.time, i18n.language)}
      </time>
    </div>
  )
}

function Prose({ text }: { text: string }) {
  return (
    <p dir="ltr" className="break-words whitespace-pre-wrap">
      <Safe text={stripEscapes(text)} />
    </p>
  )
}

function Mono({ text }: { text: string }) {
  return (
    <pre
      dir="ltr"
      className="max-h-80 overflow-auto rounded-sm bg-inset p-2 font-mono text-sm break-words whitespace-pre-wrap"
    >
      <Safe text={stripEscapes(text)} />
    </pre>
  )
}

function Call({ call, result }: { call: LogItem; result: LogItem | null }) {
  const { t } = useTranslation()
  const bad = result?.error ?? false
  return (
    <Line icon={bad ? CircleAlert : Wrench} item={call} bad={bad}>
      <details>
        <summary
          className={cn(
            'claimed inline-block max-w-full truncate rounded-sm px-1.5',
            bad && 'text-red',
          )}
        >
          <span className="font-medium">
            <Safe text={call.tool} />
          </span>{' '}
          <span className="font-mono text-sm text-t3">
            <Safe text={callTitle(call.input)} />
          </span>
        </summary>
        <div className="mt-1 flex flex-col gap-1">
          <span className="text-xs text-t3">{t('log.input')}</span>
          <Mono text={pretty(call.input)} />
          <span className="text-xs text-t3">{t('log.result')}</span>
          {result === null ? (
            <p className="text-t3">{t('log.noResult')}</p>
          ) : (
            <Mono text={result.text} />
          )}
        </div>
      </details>
    </Line>
  )
}
