import { Table2 } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Safe } from '@/components/Safe'
import type { Chart as ChartData, Measure, Step } from '@/domain/auditMetrics'
import { useMeasureText } from './measureText'
import { Plot, swatches } from './Plot'

type Props = { name: Measure; chart: ChartData; step: Step; keyName(key: string): string }

/** A picture, and beside it the same as a table, for whom a picture is none. */
export function Chart({ name, chart, step, keyName }: Props) {
  const { t } = useTranslation()
  const [table, setTable] = useState(false)
  const title = t(`trace.measure.${name}`)
  const label = (at: number) => {
    const one = chart.series[at]
    return one === undefined || one.rest ? t('trace.rest') : keyName(one.key)
  }
  return (
    <figure
      aria-label={title}
      className="flex min-w-0 flex-col gap-1 rounded-md border border-line bg-card p-3"
    >
      <figcaption className="flex items-center gap-2 font-medium">
        {title}
        <span className="font-normal text-t3">{t(`trace.per.${step}`)}</span>
        <Button
          size="mini"
          look="ghost"
          className="ml-auto"
          aria-pressed={table}
          aria-label={t('trace.asTable', { name: title })}
          title={t('trace.asTable', { name: title })}
          onClick={() => setTable(!table)}
        >
          <Table2 aria-hidden />
        </Button>
      </figcaption>
      {table ? (
        <Numbers name={name} chart={chart} step={step} label={label} />
      ) : (
        <Plot name={name} chart={chart} step={step} />
      )}
      <ul className="flex flex-wrap gap-x-3 text-xs text-t2">
        {chart.series.map((one, at) => (
          <li key={`${one.rest} ${one.key}`} className="flex max-w-48 items-center gap-1">
            <svg aria-hidden viewBox="0 0 16 4" className="h-1 w-4 shrink-0">
              <line
                x1="0"
                x2="16"
                y1="2"
                y2="2"
                strokeWidth="3"
                stroke={`var(${swatches[at % swatches.length]?.colour})`}
                strokeDasharray={swatches[at % swatches.length]?.dash.join(' ')}
              />
            </svg>
            <span className="truncate">
              <Safe text={label(at)} />
            </span>
          </li>
        ))}
      </ul>
    </figure>
  )
}

type NumbersProps = Omit<Props, 'keyName'> & { label(at: number): string }

function Numbers({ name, chart, step, label }: NumbersProps) {
  const { t, i18n } = useTranslation()
  const text = useMeasureText()
  const when = new Intl.DateTimeFormat(
    i18n.language,
    step === 'day' ? { dateStyle: 'short' } : { dateStyle: 'short', timeStyle: 'short' },
  )
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      role="group"
      aria-label={t('trace.asTable', { name: t(`trace.measure.${name}`) })}
      className="h-40 overflow-auto"
    >
      <table className="w-full text-sm">
        <thead>
          <tr className="text-t3">
            <th scope="col" className="px-2 text-left font-normal">
              {t('audit.time')}
            </th>
            {chart.series.map((one, at) => (
              <th
                key={`${one.rest} ${one.key}`}
                scope="col"
                className="max-w-40 truncate px-2 text-right font-normal"
              >
                <Safe text={label(at)} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {chart.at.map((at, index) => (
            <tr key={at.getTime()} className="border-t border-line">
              <th scope="row" className="px-2 text-left font-normal whitespace-nowrap">
                {when.format(at)}
              </th>
              {chart.series.map((one) => (
                <td key={`${one.rest} ${one.key}`} className="px-2 text-right">
                  {text(name, one.values[index] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
