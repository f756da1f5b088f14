import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Safe } from '@/components/Safe'
import { formatFilter, noFilter } from '@/domain/auditFilter'
import { type Group, type Metrics, measure, measures } from '@/domain/auditMetrics'
import { type Grouping, toWire } from '@/domain/auditPlace'
import { useMeasureText } from './measureText'

type Props = { metrics: Metrics; by: Grouping; keyName(key: string): string }

const cell = 'px-3 py-1 text-right whitespace-nowrap'

/** The same numbers as the charts, whole, and ways into what they are made of. */
export function GroupTable({ metrics, by, keyName }: Props) {
  const { t } = useTranslation()
  return (
    <div className="overflow-x-auto rounded-md border border-line">
      <table className="w-full text-sm">
        <caption className="px-3 py-1.5 text-left font-medium">
          {t('trace.tableBy', { by: t(`trace.groupings.${by}`) })}
        </caption>
        <thead>
          <tr className="border-y border-line text-t3">
            <th scope="col" className="px-3 py-1 text-left font-normal">
              {t(`trace.groupings.${by}`)}
            </th>
            {measures.map((name) => (
              <th key={name} scope="col" className={`${cell} font-normal`}>
                {t(`trace.measure.${name}`)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {metrics.groups.map((group) => (
            <Row key={group.key} group={group}>
              <Key by={by} group={group} name={keyName(group.key)} />
            </Row>
          ))}
          {metrics.rest === null ? null : (
            <Row group={metrics.rest}>
              {t('trace.others', { count: metrics.rest.more, n: metrics.rest.more })}
            </Row>
          )}
        </tbody>
        <tfoot>
          <Row group={metrics.all} strong>
            {t('trace.all')}
          </Row>
        </tfoot>
      </table>
    </div>
  )
}

type RowProps = { group: Group; strong?: boolean; children: ReactNode }

function Row({ group, strong, children }: RowProps) {
  const text = useMeasureText()
  return (
    <tr className={strong ? 'border-t border-line-strong font-medium' : 'border-t border-line'}>
      <th scope="row" className="max-w-80 truncate px-3 py-1 text-left font-normal">
        {children}
      </th>
      {measures.map((name) => {
        const value = measure(group, name)
        const bad = (name === 'errors' || name === 'refused') && value > 0
        return (
          <td key={name} className={bad ? `${cell} text-red` : cell}>
            {text(name, value)}
          </td>
        )
      })}
    </tr>
  )
}

function Key({ by, group, name }: { by: Grouping; group: Group; name: string }) {
  if (by === 'day') return name
  const q = formatFilter({ ...noFilter, [by]: toWire(group.key) })
  return (
    <Link to="/audit" search={{ view: 'trace', q }} className="text-cyan hover:underline">
      <Safe text={name} />
    </Link>
  )
}
