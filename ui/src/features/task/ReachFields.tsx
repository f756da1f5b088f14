import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { Provider } from '@/api/providers'

type Props = {
  tools: Provider[]
  chosen: string[]
  onChange(chosen: string[]): void
}

/** Tools that the task's agents may reach beside its model. */
export function ReachFields({ tools, chosen, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-medium">{t('means.also')}</legend>
      <p className="text-sm text-t3">{t('means.alsoHelp')}</p>
      {tools.length === 0 ? (
        <p className="text-sm text-t3">
          {t('means.noTools')}{' '}
          <Link
            to="/settings/$panel"
            params={{ panel: 'providers' }}
            className="text-cyan underline"
          >
            {t('settings.addProvider')}
          </Link>
        </p>
      ) : null}
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {tools.map(({ name, kind }) => (
          <label key={name} className="flex items-center gap-2">
            <input
              type="checkbox"
              checked={chosen.includes(name)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
              }
            />
            {name}
            {name === kind ? null : <span className="text-t3">{kind}</span>}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
