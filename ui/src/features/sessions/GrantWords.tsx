import { useTranslation } from 'react-i18next'
import { grants as known } from '@/domain/program'

/** What the provider may do on its own side, in words. */
export function GrantWords({ grants }: { grants: string[] }) {
  const { t } = useTranslation()
  if (grants.length === 0) return <p className="text-sm text-t3">{t('program.noGrants')}</p>
  return (
    <ul aria-label={t('program.grants')} className="text-sm text-t2">
      {grants.map((grant) => {
        const word = known.find((one) => one === grant)
        return (
          <li key={grant}>
            <code className="font-mono">{grant}</code>
            {word === undefined ? '' : ` – ${t(`grant.${word}`)}`}
          </li>
        )
      })}
    </ul>
  )
}
