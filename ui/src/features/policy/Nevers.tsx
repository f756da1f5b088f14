import { Ban } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type Never, neverWord } from '@/domain/policy'

/** What no rule opens. */
export function Nevers({ never }: { never: Never[] }) {
  const { t } = useTranslation()
  if (never.length === 0) return null
  return (
    <section className="flex flex-col gap-2">
      <h3 className="font-semibold">{t('policy.never')}</h3>
      <ul className="flex flex-col gap-1 text-t2">
        {never.map(({ what, why }) => {
          const word = neverWord(why)
          return (
            <li key={why} className="flex items-start gap-2">
              <Ban aria-hidden className="mt-0.5 size-4 shrink-0 text-red" />
              {word === null ? `${what}: ${why}` : t(`never.${word}`)}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
