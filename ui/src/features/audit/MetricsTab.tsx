import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useMetrics } from '@/api/auditMetrics'
import { Measured } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { type AuditFilter, formatFilter, moment } from '@/domain/auditFilter'
import {
  between,
  chartOf,
  type Group,
  type Measure,
  type Metrics,
  measure,
  measures,
  type Window,
  windowOf,
} from '@/domain/auditMetrics'
import { type Grouping, groupings, type Range, ranges } from '@/domain/auditPlace'
import { Chart } from './Chart'
import { Scroll } from './Facts'
import { GroupTable } from './GroupTable'
import { useKeyName, useMeasureText } from './measureText'
import type { TabProps } from './TraceTab'

/** Lines in one chart; the others are one line together. */
const lines = 5

export function MetricsTab({ place, filter, go }: TabProps) {
  const { t } = useTranslation()
  const by = place.by ?? 'model'
  const range = place.range ?? '30d'
  const [now] = useState(() => new Date())
  const custom = filter.since !== '' || filter.until !== ''
  const window = custom
    ? between(moment(filter.since, now), moment(filter.until, now), now)
    : windowOf(range, now)
  const onFilter = (change: Partial<AuditFilter>) =>
    go({ q: formatFilter({ ...filter, ...change }) || undefined }, true)
  const metrics = useMetrics(by, window, filter)
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-1.5">
        <Picker
          label={t('trace.by')}
          value={by}
          options={groupings.map((one): [Grouping, string] => [one, t(`trace.groupings.${one}`)])}
          onPick={(next) => go({ by: next }, true)}
        />
        <Picker
          label={t('trace.range')}
          value={custom ? 'custom' : range}
          options={[
            ...ranges.map((one): [Range, string] => [one, t(`trace.ranges.${one}`)]),
            ...(custom ? [['custom', t('trace.ranges.custom')] as ['custom', string]] : []),
          ]}
          onPick={(next) => {
            if (next === 'custom') return
            const q = formatFilter({ ...filter, since: '', until: '' }) || undefined
            go({ range: next, q }, true)
          }}
        />
        <DateField
          label={t('trace.field.since')}
          value={filter.since}
          onPick={(since) => onFilter({ since })}
        />
        <DateField
          label={t('trace.field.until')}
          value={filter.until}
          onPick={(until) => onFilter({ until })}
        />
        <Measured />
      </div>
      {metrics.isError && metrics.data === undefined ? (
        <ErrorNote error={metrics.error} onRetry={() => void metrics.refetch()} />
      ) : metrics.isPending ? (
        <SkeletonLines lines={12} />
      ) : (
        <Shown metrics={metrics.data} by={by} window={window} now={now} />
      )}
    </div>
  )
}

type PickerProps<T extends string> = {
  label: string
  value: T
  options: [T, string][]
  onPick(value: T): void
}

function Picker<T extends string>({ label, value, options, onPick }: PickerProps<T>) {
  return (
    <label className="flex items-center gap-2 text-sm text-t3">
      {label}
      <select
        value={value}
        onChange={(event) => {
          const next = options.find(([one]) => one === event.target.value)
          if (next !== undefined) onPick(next[0])
        }}
        className="h-7 rounded-md border border-line-strong bg-inset px-2 text-base text-t1"
      >
        {options.map(([one, name]) => (
          <option key={one} value={one}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

type DateProps = { label: string; value: string; onPick(value: string): void }

/** A day of the filter; a time that is no whole day is in the filter bar only. */
function DateField({ label, value, onPick }: DateProps) {
  return (
    <label className="flex items-center gap-2 text-sm text-t3">
      {label}
      <input
        type="date"
        value={/^\d{4}-\d{2}-\d{2}$/.test(value) ? value : ''}
        onChange={(event) => onPick(event.target.value)}
        className="h-7 rounded-md border border-line-strong bg-inset px-2 text-base text-t1"
      />
    </label>
  )
}

type ShownProps = { metrics: Metrics; by: Grouping; window: Window; now: Date }

function Shown({ metrics, by, window, now }: ShownProps) {
  const { t } = useTranslation()
  const key = useKeyName(by)
  const { all } = metrics
  if (all.calls + all.refused === 0)
    return <Empty title={t('trace.noMetrics')} help={t('trace.noMetricsHelp')} />
  return (
    <Scroll label={t('trace.tab.metrics')}>
      <Figures all={all} />
      <div className="grid grid-cols-1 gap-3 min-[1100px]:grid-cols-2 min-[1800px]:grid-cols-3">
        {measures.map((name) => (
          <Chart
            key={name}
            name={name}
            chart={chartOf(metrics, name, lines, window, now)}
            step={window.step}
            keyName={key}
          />
        ))}
      </div>
      <GroupTable metrics={metrics} by={by} keyName={key} />
    </Scroll>
  )
}

function Figures({ all }: { all: Group }) {
  const { t } = useTranslation()
  return (
    <dl className="grid shrink-0 grid-cols-3 gap-px overflow-hidden rounded-md border border-line bg-line min-[1100px]:grid-cols-6">
      {measures.map((name) => (
        <Figure key={name} name={name} value={measure(all, name)}>
          {name === 'tokens' ? (
            <Tokens all={all} />
          ) : name === 'cost' && all.unmetered > 0 ? (
            t('trace.nUnmetered', { count: all.unmetered, n: all.unmetered })
          ) : null}
        </Figure>
      ))}
    </dl>
  )
}

function Tokens({ all }: { all: Group }) {
  const text = useMeasureText()
  return (
    <>
      {text('tokens', all.input)} → {text('tokens', all.output)}
    </>
  )
}

type FigureProps = { name: Measure; value: number; children?: ReactNode }

function Figure({ name, value, children }: FigureProps) {
  const { t } = useTranslation()
  const text = useMeasureText()
  const bad = (name === 'errors' || name === 'refused') && value > 0
  return (
    <div className="flex flex-col bg-card px-3 py-2">
      <dt className="text-sm text-t3">{t(`trace.measure.${name}`)}</dt>
      <dd data-figure={name} data-value={value} className={bad ? 'text-lg text-red' : 'text-lg'}>
        {text(name, value)}
        <span className="block h-4 text-xs text-t3">{children}</span>
      </dd>
    </div>
  )
}
