import { Tabs } from 'radix-ui'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { SkeletonLines } from '@/components/State'
import { hasResult } from '@/domain/actions'
import type { Task } from '@/domain/model'
import { TaskAsks } from '@/features/asks/TaskAsks'
import { Brief } from './Brief'
import { Means, type MeansState } from './Means'
import { TaskHead } from './TaskHead'
import { type Tab, tabs } from './tabs'

const views = {
  diff: lazy(() => import('@/features/diff/DiffTab').then((m) => ({ default: m.DiffTab }))),
  log: lazy(() => import('@/features/log/LogTab').then((m) => ({ default: m.LogTab }))),
  ci: lazy(() => import('@/features/ci/CITab').then((m) => ({ default: m.CITab }))),
  review: lazy(() => import('@/features/review/ReviewTab').then((m) => ({ default: m.ReviewTab }))),
}

type Props = {
  task: Task
  tab: Tab
  onTab(tab: Tab): void
  wide: boolean
  onWide(): void
  onClose(): void
}

export function TaskPanel({ task, tab, onTab, wide, onWide, onClose }: Props) {
  const { t } = useTranslation()
  const [open, setOpen] = useState(false)
  const [means, setMeans] = useState<MeansState>('closed')
  // Lines need the room more than what is known about the task.
  const compact = tab === 'diff' && hasResult(task)
  return (
    <>
      <TaskHead
        task={task}
        wide={wide}
        onWide={onWide}
        onClose={onClose}
        more={compact ? { open, toggle: () => setOpen(!open) } : null}
        onRaise={() => setMeans('edit')}
      />
      <TaskAsks task={task.id} />
      <Tabs.Root
        value={tab}
        onValueChange={(value) => {
          const next = tabs.find((one) => one === value)
          if (next !== undefined) onTab(next)
        }}
        className="flex min-h-0 flex-1 flex-col"
      >
        {compact && !open && means !== 'edit' ? null : (
          <>
            <Brief task={task} />
            <Means task={task} state={means} onState={setMeans} />
          </>
        )}
        <Tabs.List
          aria-label={t('task.drawer')}
          className="flex shrink-0 gap-1 border-b border-line px-3"
        >
          {tabs.map((one) => (
            <Tabs.Trigger
              key={one}
              value={one}
              className="border-b-2 border-transparent px-2 py-1.5 text-base text-t3 data-[state=active]:border-blue data-[state=active]:font-medium data-[state=active]:text-t1"
            >
              {t(`tab.${one}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {tabs.map((one) => {
          const View = views[one]
          return (
            <Tabs.Content
              key={one}
              value={one}
              className="flex min-h-0 flex-1 flex-col outline-none"
            >
              <Suspense fallback={<SkeletonLines lines={8} />}>
                <View task={task} />
              </Suspense>
            </Tabs.Content>
          )
        })}
      </Tabs.Root>
    </>
  )
}
