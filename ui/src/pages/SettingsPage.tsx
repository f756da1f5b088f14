import { Link, Outlet } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { settingsPanels } from '@/features/settings/panels'

const link =
  'flex h-7 items-center rounded-md px-2.5 text-t2 hover:bg-hover data-[status=active]:bg-hover data-[status=active]:font-medium data-[status=active]:text-t1'

export function SettingsPage() {
  const { t } = useTranslation()
  return (
    <div className="flex min-w-0 flex-1">
      <nav
        aria-label={t('settings.title')}
        className="flex w-44 shrink-0 flex-col gap-0.5 border-r border-line p-3"
      >
        <h1 className="px-2.5 pb-2 text-lg font-semibold">{t('settings.title')}</h1>
        {settingsPanels.map((panel) => (
          <Link key={panel} to="/settings/$panel" params={{ panel }} className={link}>
            {t(`settings.panel.${panel}`)}
          </Link>
        ))}
      </nav>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        role="group"
        aria-label={t('settings.title')}
        className="min-w-0 flex-1 overflow-y-auto"
      >
        <div className="mx-auto flex max-w-4xl flex-col gap-8 p-6">
          <Outlet />
        </div>
      </div>
    </div>
  )
}
