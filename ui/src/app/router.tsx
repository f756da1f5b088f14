import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { toPlace } from '@/domain/auditPlace'
import { type Tab, tabs } from '@/features/task/tabs'
import { withWords } from '@/i18n'
import { withTrace } from '@/i18n/trace'
import { BoardPage } from '@/pages/BoardPage'
import { CrashPage } from '@/pages/CrashPage'
import { NotFoundPage } from '@/pages/NotFoundPage'
import { Frame } from './Frame'

// Everything a person can look at has an address; what follows the "?" is
// checked here, and nothing else reads it.

type BoardSearch = { repo?: string; q?: string; tab?: Tab; wide?: boolean }

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

const root = createRootRoute({ component: Frame, notFoundComponent: NotFoundPage })

const board = createRoute({
  getParentRoute: () => root,
  id: 'board',
  component: BoardPage,
  validateSearch: (search: Record<string, unknown>): BoardSearch => {
    const tab = tabs.find((one) => one === search.tab)
    const [repo, q] = [text(search.repo), text(search.q)]
    return {
      ...(repo === undefined ? {} : { repo }),
      ...(q === undefined ? {} : { q }),
      ...(tab === undefined ? {} : { tab }),
      ...(search.wide === true ? { wide: true } : {}),
    }
  },
})

const home = createRoute({ getParentRoute: () => board, path: '/' })

const task = createRoute({
  getParentRoute: () => board,
  path: '/tasks/$taskId',
  component: lazyRouteComponent(() => withWords(import('@/pages/TaskPage')), 'TaskPage'),
})

const audit = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: lazyRouteComponent(
    () => withTrace(withWords(import('@/pages/AuditPage'))),
    'AuditPage',
  ),
  validateSearch: toPlace,
})

const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => withWords(import('@/pages/SettingsPage')), 'SettingsPage'),
})

const settingsHome = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$panel', params: { panel: 'providers' }, replace: true })
  },
})

const settingsPanel = createRoute({
  getParentRoute: () => settings,
  path: '/$panel',
  component: lazyRouteComponent(
    () => withWords(import('@/pages/SettingsPanelPage')),
    'SettingsPanelPage',
  ),
})

const policy = createRoute({
  getParentRoute: () => settings,
  path: '/providers/$name',
  component: lazyRouteComponent(() => withWords(import('@/pages/PolicyPage')), 'PolicyPage'),
})

export const router = createRouter({
  routeTree: root.addChildren([
    board.addChildren([home, task]),
    audit,
    settings.addChildren([settingsHome, settingsPanel, policy]),
  ]),
  defaultErrorComponent: CrashPage,
  defaultPreload: 'intent',
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
