import { Link } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { usePrices } from '@/api/budgets'
import { useProviders } from '@/api/providers'
import { Safe } from '@/components/Safe'
import { unpriced } from '@/domain/price'

/** Models that no row prices: a limit in money cannot be held for them. */
export function UnpricedNote({ here = false }: { here?: boolean }) {
  const { t } = useTranslation()
  const prices = usePrices().data
  const providers = useProviders().data
  if (prices === undefined || providers === undefined) return null
  // A server of one's own costs nothing.
  const found = unpriced(
    prices,
    providers.filter((one) => !one.local),
  )
  if (found.length === 0) return null
  return (
    <div className="flex items-start gap-2 rounded-md border border-amber/40 bg-amber-soft p-3">
      <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" />
      <div className="flex min-w-0 flex-col gap-1">
        <p className="font-medium">{t('price.unpriced')}</p>
        <ul className="text-t2">
          {found.map(({ provider, models }) => (
            <li key={provider} className="break-words">
              {provider}: <Safe text={models.slice(0, 12).join(', ')} />
              {models.length > 12 ? ` ${t('rail.more', { n: models.length - 12 })}` : ''}
            </li>
          ))}
        </ul>
        <p className="text-t2">{t('price.unpricedHelp')}</p>
        {here ? null : (
          <Link
            to="/settings/$panel"
            params={{ panel: 'prices' }}
            className="text-cyan hover:underline"
          >
            {t('price.go')}
          </Link>
        )}
      </div>
    </div>
  )
}
