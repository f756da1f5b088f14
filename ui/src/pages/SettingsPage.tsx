import { useTranslation } from 'react-i18next'
import { Appearance } from '@/features/settings/Appearance'
import { Machine } from '@/features/settings/Machine'
import { Providers } from '@/features/settings/Providers'

export function SettingsPage() {
  const { t } = useTranslation()
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      role="group"
      aria-label={t('settings.title')}
      className="min-w-0 flex-1 overflow-y-auto"
    >
      <div className="mx-auto flex max-w-3xl flex-col gap-8 p-6">
        <h1 className="text-lg font-semibold">{t('settings.title')}</h1>
        <Appearance />
        <Providers />
        <Machine />
      </div>
    </div>
  )
}
