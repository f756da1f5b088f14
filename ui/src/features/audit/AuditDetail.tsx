import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { useAuditRow } from '@/api/audit'
import { Button } from '@/components/Button'
import { Measured, Scripted } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { type AuditRow, headline, isDenied } from '@/domain/audit'
import { pretty } from '@/domain/log'
import { bytes, count, full } from '@/domain/time'
import { Bodies } from './Bodies'
import { RowLink } from './Facts'
import { KindChip } from './KindChip'
import { TraceLink } from './TraceLink'

export function AuditDetail({ seq, onClose }: { seq: number; onClose(): void }) {
  const { t } = useTranslation()
  const row = useAuditRow(seq)
  return (
    <aside
      aria-label={`${t('audit.seq')} ${seq}`}
      className="flex w-[46%] max-w-[760px] min-w-[380px] flex-col border-l border-line bg-panel"
    >
      <div className="flex items-center gap-2 border-b border-line px-4 py-1.5">
        <h2 className="flex flex-1 items-center gap-2 text-md font-semibold">
          {t('audit.seq')} {seq}
          {row.data === undefined ? null : <KindChip kind={row.data.kind} />}
          {row.data?.scripted ? <Scripted /> : null}
        </h2>
        <Button look="ghost" size="icon" aria-label={t('common.close')} onClick={onClose}>
          <X aria-hidden />
        </Button>
      </div>
      {row.isError ? <ErrorNote error={row.error} onRetry={() => void row.refetch()} /> : null}
      {row.isPending ? <SkeletonLines lines={10} /> : null}
      {row.data === undefined ? null : <Facts row={row.data} />}
    </aside>
  )
}

function Facts({ row }: { row: AuditRow }) {
  const { t } = useTranslation()
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      role="group"
      aria-label={t('audit.what')}
      className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-4"
    >
      <p className="font-mono break-all">
        <Safe text={headline(row)} />
      </p>
      {isDenied(row) ? (
        <p className="rounded-md border border-red/40 bg-red-soft p-2 text-red">
          {t('audit.denied')}: {t('audit.gate')} {row.gate} – {row.reason}
        </p>
      ) : null}
      <TraceLink row={row} />
      <Table row={row} />
      <p className="flex items-center gap-2 text-sm text-t3">
        <Measured /> {t('audit.attributed')}
      </p>
      {row.detail === '' ? null : (
        <section>
          <h3 className="pb-1 font-medium">{t('audit.detail')}</h3>
          <pre className="rounded-md bg-inset p-2 font-mono text-sm break-all whitespace-pre-wrap">
            <Safe text={pretty(row.detail)} />
          </pre>
        </section>
      )}
      {row.hasBody ? <Bodies seq={row.seq} /> : null}
    </div>
  )
}

function Table({ row }: { row: AuditRow }) {
  const { t, i18n } = useTranslation()
  const language = i18n.language
  const linked = (seq: number) => <RowLink seq={seq} />
  const pairs: [string, ReactNode][] = [
    [t('audit.time'), full(row.time, language)],
    [t('audit.source'), row.source],
    [t('audit.actor'), row.actor],
    [t('audit.refers'), row.ref > 0 ? linked(row.ref) : ''],
    [t('audit.task'), row.task === '' ? '' : <TaskLink key="task" id={row.task} />],
    [t('audit.run'), row.run],
    [t('audit.stage'), row.stage],
    [t('audit.session'), row.session],
    [t('audit.agent'), row.agent],
    [t('audit.upstream'), row.upstream],
    [t('audit.model'), row.model],
    [t('audit.result'), [row.status || '', row.result].filter(Boolean).join(' ')],
    [
      t('audit.tokens'),
      row.input + row.output > 0
        ? `${count(row.input, language)} → ${count(row.output, language)}`
        : '',
    ],
    [
      t('audit.duration'),
      row.durationUs > 0 ? `${count(Math.round(row.durationUs / 1000), language)} ms` : '',
    ],
    [
      `${t('audit.request')} / ${t('audit.response')}`,
      row.bytesIn + row.bytesOut > 0
        ? `${bytes(row.bytesIn, language)} / ${bytes(row.bytesOut, language)}`
        : '',
    ],
    ...row.attrs.map(([key, value]): [string, ReactNode] => [key, <Safe key={key} text={value} />]),
    [t('audit.hash'), row.hash],
    [t('audit.prev'), row.prev],
  ]
  return (
    <dl className="grid grid-cols-[140px_1fr] gap-x-3 gap-y-1 text-sm">
      {pairs
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-t3">{name}</dt>
            <dd className="min-w-0 font-mono break-all">{value}</dd>
          </div>
        ))}
    </dl>
  )
}

function TaskLink({ id }: { id: string }) {
  return (
    <Link to="/tasks/$taskId" params={{ taskId: id }} className="text-cyan hover:underline">
      {id}
    </Link>
  )
}
