import { Link, useMatchRoute } from '@tanstack/react-router'
import { Languages, Search, SunMoon } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useTasks } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Menu, MenuItem } from '@/components/Menu'
import { type Language, languages } from '@/i18n'
import { useDialogs } from '@/store/dialogs'
import { useWindow } from '@/store/window'
import { AsksBell } from './AsksBell'

const link =
  'flex h-7 items-center gap-1.5 rounded-md px-2.5 text-base text-t2 hover:bg-hover data-[status=active]:bg-hover data-[status=active]:font-medium data-[status=active]:text-t1'

export function TopBar() {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const onTask = useMatchRoute()({ to: '/tasks/$taskId' }) !== false
  const waiting = useTasks().data?.filter((task) => task.column === 'needs_you').length ?? 0
  return (
    <header className="flex h-11 shrink-0 items-center gap-1 border-b border-line bg-panel px-3">
      <span className="mr-3 flex items-center gap-2 text-md font-semibold">
        <img src="/favicon.svg" alt="" className="size-5" />
        moeca
      </span>
      <nav aria-label={t('nav.main')} className="flex gap-1">
        <Link
          to="/"
          className={link}
          activeOptions={{ exact: true, includeSearch: false }}
          data-status={onTask ? 'active' : undefined}
          aria-current={onTask ? 'page' : undefined}
        >
          {t('nav.delivery')}
          {waiting === 0 ? null : (
            <span
              role="img"
              aria-label={`${t('column.needs_you')}: ${waiting}`}
              className="rounded-sm bg-amber-soft px-1 text-xs text-amber"
            >
              {waiting}
            </span>
          )}
        </Link>
        <Link to="/audit" className={link}>
          {t('nav.audit')}
        </Link>
        <Link to="/settings" className={link}>
          {t('nav.settings')}
        </Link>
      </nav>
      <Button className="ml-auto" onClick={() => show({ kind: 'palette' })}>
        <Search aria-hidden />
        {t('common.search')}
        <kbd className="font-mono text-xs">Ctrl K</kbd>
      </Button>
      <AsksBell />
      <LanguageMenu />
      <ThemeMenu />
    </header>
  )
}

function LanguageMenu() {
  const { t } = useTranslation()
  const { language, setLanguage } = useWindow()
  return (
    <Menu
      label={t('language.label')}
      trigger={
        <Button look="ghost" size="icon" aria-label={t('language.label')}>
          <Languages aria-hidden />
        </Button>
      }
    >
      {Object.entries(languages).map(([code, name]) => (
        <MenuItem
          key={code}
          checked={code === language}
          onSelect={() => setLanguage(code as Language)}
        >
          <span lang={code}>{name}</span>
        </MenuItem>
      ))}
    </Menu>
  )
}

function ThemeMenu() {
  const { t } = useTranslation()
  const { theme, setTheme } = useWindow()
  return (
    <Menu
      label={t('theme.label')}
      trigger={
        <Button look="ghost" size="icon" aria-label={t('theme.label')}>
          <SunMoon aria-hidden />
        </Button>
      }
    >
      {(['system', 'dark', 'light'] as const).map((one) => (
        <MenuItem key={one} checked={one === theme} onSelect={() => setTheme(one)}>
          {t(`theme.${one}`)}
        </MenuItem>
      ))}
    </Menu>
  )
}
