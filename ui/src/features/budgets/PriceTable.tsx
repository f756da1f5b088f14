import { ExternalLink, Pencil } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { keyText, type Price } from '@/domain/price'
import { compact } from '@/domain/time'

const columns = ['input', 'output', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'search'] as const

const head = 'px-2 py-1.5 text-left align-bottom font-medium text-t3'

export function PriceTable({ rows, onOpen }: { rows: Price[]; onOpen(price: Price): void }) {
  const { t } = useTranslation()
  return (
    <div
      role="group"
      aria-label={t('price.title')}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line bg-card"
    >
      <table className="w-full text-sm">
        <thead>
          <tr className="border-b border-line">
            <th className={head}>{t('price.where')}</th>
            <th className={head}>{t('price.model')}</th>
            <th className={head}>{t('price.upTo')}</th>
            {columns.map((one) => (
              <th key={one} className={`${head} text-right`}>
                {t(`price.field.${one}`)}
              </th>
            ))}
            <th className={head}>{t('price.readOn')}</th>
            <td />
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((row) => (
            <Row key={keyText(row)} row={row} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** The day, as a link to the page the figures stood on. */
function Origin({ row }: { row: Price }) {
  const { t } = useTranslation()
  const why = [row.source, row.note].filter(Boolean).join(' – ')
  if (row.source === '') {
    return (
      <span title={why} className="text-t3">
        {row.read || t('price.noSource')}
      </span>
    )
  }
  return (
    <a
      href={row.source}
      target="_blank"
      rel="noreferrer"
      title={why}
      aria-label={t('price.sourceOf', { model: row.model, date: row.read })}
      className="inline-flex items-center gap-1 text-cyan hover:underline"
    >
      {row.read}
      <ExternalLink aria-hidden className="size-3" />
    </a>
  )
}

function Row({ row, onOpen }: { row: Price; onOpen(price: Price): void }) {
  const { t, i18n } = useTranslation()
  return (
    <tr className="h-7">
      <td className="px-2 whitespace-nowrap text-t3">
        {row.upstream === '' ? t('price.kind', { kind: row.kind || '*' }) : row.upstream}
      </td>
      <th scope="row" className="min-w-44 px-2 text-left font-mono font-normal break-all">
        {row.model}
      </th>
      <td className="px-2 whitespace-nowrap text-t3">
        {row.upTo === 0 ? t('price.any') : compact(row.upTo, i18n.language)}
      </td>
      {columns.map((one) => (
        <td key={one} className="px-2 text-right font-mono whitespace-nowrap">
          {row[one] === '' ? <span className="text-t4">–</span> : row[one]}
        </td>
      ))}
      <td className="px-2 whitespace-nowrap">
        <Origin row={row} />
      </td>
      <td className="w-8">
        <Button
          look="ghost"
          size="mini"
          aria-label={t('price.edit', { model: row.model })}
          onClick={() => onOpen(row)}
        >
          <Pencil aria-hidden />
        </Button>
      </td>
    </tr>
  )
}
