import { Plus } from 'lucide-react'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePrices } from '@/api/budgets'
import { Button } from '@/components/Button'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { blankPrice, keyText, type Price } from '@/domain/price'
import { count } from '@/domain/time'
import { Panel } from '@/features/settings/Panel'
import { PriceDialog } from './PriceDialog'
import { PriceTable } from './PriceTable'
import { UnpricedNote } from './UnpricedNote'

/** More rows than anybody reads; the filter finds the rest. */
const most = 200

/** What calls cost, and where that is from. */
export function Prices() {
  const { t } = useTranslation()
  const prices = usePrices()
  const [open, setOpen] = useState<Price | null>(null)
  if (prices.isError)
    return <ErrorNote error={prices.error} onRetry={() => void prices.refetch()} />
  if (prices.isPending) return <SkeletonLines lines={10} />
  const known = new Set(prices.data.map(keyText))
  return (
    <Panel
      title={t('price.title')}
      help={t('price.help')}
      action={
        <Button changes onClick={() => setOpen(blankPrice)}>
          <Plus aria-hidden />
          {t('price.add')}
        </Button>
      }
    >
      <UnpricedNote here />
      <Filtered rows={prices.data} onOpen={setOpen} />
      {open === null ? null : (
        <PriceDialog
          price={open}
          isNew={!known.has(keyText(open))}
          known={known}
          onClose={() => setOpen(null)}
        />
      )}
    </Panel>
  )
}

function Filtered({ rows, onOpen }: { rows: Price[]; onOpen(price: Price): void }) {
  const { t, i18n } = useTranslation()
  const id = useId()
  const [text, setText] = useState('')
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = rows.filter((row) => {
    const all = `${row.upstream} ${row.kind} ${row.model}`.toLowerCase()
    return words.every((word) => all.includes(word))
  })
  return (
    <>
      <div className="flex items-center gap-3">
        <label htmlFor={id} className="sr-only">
          {t('price.filter')}
        </label>
        <input
          id={id}
          data-filter
          value={text}
          placeholder={t('price.filter')}
          onChange={(event) => setText(event.target.value)}
          className="h-7 w-72 rounded-md border border-line-strong bg-inset px-2"
        />
        <span className="text-sm text-t3">
          {t('price.rows', { count: found.length, n: count(found.length, i18n.language) })}
        </span>
      </div>
      {found.length === 0 ? (
        <Empty title={t('price.noMatch')} />
      ) : (
        <PriceTable rows={found.slice(0, most)} onOpen={onOpen} />
      )}
      {found.length > most ? (
        <p className="text-sm text-t3">
          {t('price.cut', { n: count(found.length - most, i18n.language) })}
        </p>
      ) : null}
    </>
  )
}
