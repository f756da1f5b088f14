import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import {
  duration,
  type Figure,
  percent,
  type RunDiff,
  type RunSummary,
} from '@/domain/auditMetrics'
import { count, full } from '@/domain/time'
import { usd } from '@/domain/usd'
import { useNames } from './useNames'
import { VerdictMark } from './VerdictMark'

const cell = 'px-3 py-1 text-right whitespace-nowrap'

export function FigureTable({ diff }: { diff: RunDiff }) {
  const { t } = useTranslation()
  return (
    <div className="overflow-x-auto rounded-md border border-line">
      <table className="w-full text-sm">
        <caption className="sr-only">{t('trace.tab.compare')}</caption>
        <thead>
          <tr className="align-top">
            <th scope="col" className="px-3 py-2 text-left font-normal text-t3">
              {t('trace.figure')}
            </th>
            <Run label={t('trace.runA')} run={diff.a} />
            <Run label={t('trace.runB')} run={diff.b} />
            <th scope="col" className="px-3 py-2 text-right font-normal text-t3">
              {t('trace.delta')}
            </th>
            <th scope="col" className="px-3 py-2 text-left font-normal text-t3">
              {t('trace.verdictWord')}
            </th>
          </tr>
        </thead>
        <tbody>
          {diff.figures.map((figure) => (
            <Line key={figure.name} figure={figure} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Run({ label, run }: { label: string; run: RunSummary }) {
  const { t, i18n } = useTranslation()
  const names = useNames()
  return (
    <th scope="col" className="max-w-64 px-3 py-2 text-right font-normal">
      <span className="block text-t3">{label}</span>
      <Link
        to="/audit"
        search={{ view: 'trace', q: `run:${run.run}` }}
        className="block truncate text-cyan hover:underline"
      >
        <Safe text={names.task(run.task) ?? t('trace.noTask')} />
      </Link>
      <span className="block truncate font-mono text-xs text-t3">{run.run}</span>
      <span className="block truncate text-xs text-t3">
        <Safe text={[run.agent, run.model].filter(Boolean).join(' · ')} />
      </span>
      <span className="block text-xs text-t3">{full(run.began, i18n.language)}</span>
    </th>
  )
}

const known = [
  'tokens',
  'cost',
  'errors',
  'wall_time',
  'tokens_in',
  'tokens_out',
  'cache_read',
  'calls',
  'tool_round_trips',
  'refusals',
  'stages',
  'sessions',
] as const

function Line({ figure }: { figure: Figure }) {
  const { t, i18n } = useTranslation()
  const text = (value: number): string => {
    if (figure.unit === 'nano_usd') return usd(value, i18n.language)
    if (figure.unit === 'us') return duration(value, i18n.language)
    return count(value, i18n.language)
  }
  const name = known.find((one) => one === figure.name)
  const share = percent(figure)
  const sign = figure.delta > 0 ? '+' : figure.delta < 0 ? '−' : '±'
  return (
    <tr className="h-7 border-t border-line">
      <th scope="row" className="px-3 py-1 text-left font-normal">
        {name === undefined ? figure.name : t(`trace.figures.${name}`)}
        {figure.decides ? <span className="ml-2 text-xs text-t3">{t('trace.decides')}</span> : null}
      </th>
      <td className={cell}>{text(figure.a)}</td>
      <td className={cell}>{text(figure.b)}</td>
      <td className={cell}>
        {sign}
        {text(Math.abs(figure.delta))}
        {share === null || figure.delta === 0 ? null : (
          <span className="ml-1 text-xs text-t3">
            ({share > 0 ? '+' : ''}
            {new Intl.NumberFormat(i18n.language).format(share)} %)
          </span>
        )}
      </td>
      <td className="px-3 py-1">
        {figure.verdict === '' ? (
          <span className="text-t3">–</span>
        ) : (
          <VerdictMark verdict={figure.verdict} />
        )}
      </td>
    </tr>
  )
}
