import { useNavigate } from '@tanstack/react-router'
import {
  Bell,
  CircleDot,
  CirclePlay,
  FolderGit2,
  FolderPlus,
  Keyboard,
  KeyRound,
  Languages,
  type LucideIcon,
  Plus,
  ScrollText,
  Settings,
  SquareKanban,
  SunMoon,
} from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRepos } from '@/api/repos'
import { useTasks } from '@/api/tasks'
import { useDemo } from '@/features/board/useDemo'
import { settingsPanels } from '@/features/settings/panels'
import { type Language, languages } from '@/i18n'
import { useDialogs } from '@/store/dialogs'
import { useWindow } from '@/store/window'

type PaletteItem = {
  id: string
  label: string
  icon: LucideIcon
  key: string
  perform(): void
}

export type PaletteGroup = { title: string; items: PaletteItem[] }

const taskCap = 50

export function usePaletteItems(text: string): PaletteGroup[] {
  const { t } = useTranslation()
  const go = useGoItems()
  const commands = useCommandItems()
  const tasks = useTaskItems(text)
  switch (text.slice(0, 1)) {
    case '>':
      return [{ title: t('palette.commands'), items: commands }]
    case '#':
      return [{ title: t('palette.tasks'), items: tasks }]
    case '?':
      return [{ title: t('palette.help'), items: commands.filter((item) => item.key === '?') }]
    default:
      return [
        { title: t('palette.go'), items: go },
        { title: t('palette.commands'), items: commands },
        { title: t('palette.tasks'), items: text === '' ? tasks.slice(0, 5) : tasks },
      ]
  }
}

function useGoItems(): PaletteItem[] {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const repos = useRepos().data ?? []
  return [
    {
      id: 'go:delivery',
      label: t('nav.delivery'),
      icon: SquareKanban,
      key: '',
      perform: () => void navigate({ to: '/' }),
    },
    {
      id: 'go:audit',
      label: t('nav.audit'),
      icon: ScrollText,
      key: '',
      perform: () => void navigate({ to: '/audit' }),
    },
    {
      id: 'go:settings',
      label: t('nav.settings'),
      icon: Settings,
      key: '',
      perform: () => void navigate({ to: '/settings' }),
    },
    ...settingsPanels.map((panel) => ({
      id: `go:settings.${panel}`,
      label: `${t('nav.settings')}: ${t(`settings.panel.${panel}`)}`,
      icon: Settings,
      key: '',
      perform: () => void navigate({ to: '/settings/$panel', params: { panel } }),
    })),
    ...repos.map((repo) => ({
      id: `repo:${repo.id}`,
      label: repo.name,
      icon: FolderGit2,
      key: '',
      perform: () => void navigate({ to: '/', search: { repo: repo.id } }),
    })),
  ]
}

function useCommandItems(): PaletteItem[] {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const { theme, setTheme, setLanguage } = useWindow()
  const demo = useDemo()
  const command = (
    id: string,
    label: string,
    icon: LucideIcon,
    key: string,
    perform: () => void,
  ) => ({
    id: `do:${id}`,
    label,
    icon,
    key,
    perform,
  })
  const themes = (['system', 'dark', 'light'] as const)
    .filter((one) => one !== theme)
    .map((one) =>
      command(`theme.${one}`, `${t('theme.label')}: ${t(`theme.${one}`)}`, SunMoon, '', () =>
        setTheme(one),
      ),
    )
  const tongues = Object.entries(languages).map(([code, name]) =>
    command(`language.${code}`, `${t('language.label')}: ${name}`, Languages, '', () =>
      setLanguage(code as Language),
    ),
  )
  return [
    command('task', t('board.newTask'), Plus, 'C', () => show({ kind: 'task', repo: null })),
    command('repo', t('rail.addRepo'), FolderPlus, '', () => show({ kind: 'repo', repo: null })),
    command('demo', t('first.demo'), CirclePlay, '', demo.begin),
    command('provider', t('settings.addProvider'), KeyRound, '', () =>
      show({ kind: 'provider', name: null }),
    ),
    command('asks', t('ask.title'), Bell, '', () => show({ kind: 'asks' })),
    command('keys', t('keys.title'), Keyboard, '?', () => show({ kind: 'shortcuts' })),
    ...themes,
    ...tongues,
  ]
}

function useTaskItems(text: string): PaletteItem[] {
  const navigate = useNavigate()
  const words = text.replace(/^#/, '').toLowerCase().trim()
  return (useTasks().data ?? [])
    .filter((task) => task.title.toLowerCase().includes(words) || String(task.number) === words)
    .slice(0, taskCap)
    .map((task) => ({
      id: `task:${task.id}`,
      label: `#${task.number} ${task.title}`,
      icon: CircleDot,
      key: '',
      perform: () => void navigate({ to: '/tasks/$taskId', params: { taskId: task.id } }),
    }))
}
