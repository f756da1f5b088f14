import { useTranslation } from 'react-i18next'
import { Field } from '@/components/Field'
import { type Language, languages } from '@/i18n'
import { type Theme, useWindow } from '@/store/window'
import { Panel } from './Panel'

const themes = ['system', 'dark', 'light'] as const

export function Appearance() {
  const { t } = useTranslation()
  const { theme, language, setTheme, setLanguage } = useWindow()
  return (
    <Panel title={t('settings.appearance')}>
      <div className="grid max-w-md grid-cols-2 gap-3">
        <Field label={t('theme.label')}>
          {(wire) => (
            <select
              {...wire}
              value={theme}
              onChange={(event) => {
                const next: Theme | undefined = themes.find((one) => one === event.target.value)
                if (next !== undefined) setTheme(next)
              }}
            >
              {themes.map((one) => (
                <option key={one} value={one}>
                  {t(`theme.${one}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('language.label')}>
          {(wire) => (
            <select
              {...wire}
              value={language}
              onChange={(event) => setLanguage(event.target.value as Language)}
            >
              {Object.entries(languages).map(([code, name]) => (
                <option key={code} value={code} lang={code}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
    </Panel>
  )
}
