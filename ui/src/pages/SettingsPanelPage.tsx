import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { SkeletonLines } from '@/components/State'
import { Appearance } from '@/features/settings/Appearance'
import { Machine } from '@/features/settings/Machine'
import { Providers } from '@/features/settings/Providers'
import { type SettingsPanelName, settingsPanels } from '@/features/settings/panels'
import { NotFoundPage } from './NotFoundPage'

const Budgets = lazy(() =>
  import('@/features/budgets/Budgets').then((m) => ({ default: m.Budgets })),
)
const Log = lazy(() => import('@/features/witnesses/Log').then((m) => ({ default: m.Log })))
const Prices = lazy(() => import('@/features/budgets/Prices').then((m) => ({ default: m.Prices })))
const Sessions = lazy(() =>
  import('@/features/sessions/Sessions').then((m) => ({ default: m.Sessions })),
)

export function SettingsPanelPage() {
  const { panel } = useParams({ from: '/settings/$panel' })
  const name = settingsPanels.find((one) => one === panel)
  if (name === undefined) return <NotFoundPage />
  return <Suspense fallback={<SkeletonLines lines={6} />}>{panelOf(name)}</Suspense>
}

function panelOf(name: SettingsPanelName) {
  switch (name) {
    case 'providers':
      return <Providers />
    case 'budgets':
      return <Budgets />
    case 'prices':
      return <Prices />
    case 'sessions':
      return <Sessions />
    case 'log':
      return <Log />
    case 'appearance':
      return <Appearance />
    case 'machine':
      return <Machine />
  }
}
