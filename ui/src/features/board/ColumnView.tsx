import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import type { Column, Task } from '@/domain/model'
import { count } from '@/domain/time'
import { useDialogs } from '@/store/dialogs'
import { Card } from './Card'
import { type Over, useDropColumn } from './useDrag'

const dots: Record<Column, string> = {
  inbox: 'bg-amber',
  working: 'bg-blue',
  needs_you: 'bg-amber',
  done: 'bg-green',
}

const frames: Record<Over, string> = {
  none: 'border-transparent',
  takes: 'border-blue bg-blue-soft',
  refuses: 'border-red bg-red-soft',
}

export function ColumnView({ column, tasks }: { column: Column; tasks: Task[] }) {
  const { t, i18n } = useTranslation()
  const ref = useRef<HTMLElement>(null)
  const over = useDropColumn(ref, column)
  return (
    <section
      ref={ref}
      aria-label={t(`column.${column}`)}
      className={cn('flex min-h-0 min-w-60 flex-1 flex-col rounded-md border', frames[over])}
    >
      <h2 className="flex items-center gap-2 px-2 py-2 text-base font-semibold text-t2">
        <span aria-hidden className={cn('size-2 rounded-full', dots[column])} />
        {t(`column.${column}`)}
        <span className="font-normal text-t3">{count(tasks.length, i18n.language)}</span>
      </h2>
      <Cards tasks={tasks} label={t(`column.${column}`)} />
    </section>
  )
}

function Cards({ tasks, label }: { tasks: Task[]; label: string }) {
  const { t } = useTranslation()
  const ref = useRef<HTMLDivElement>(null)
  const list = useVirtualizer({
    count: tasks.length,
    getScrollElement: () => ref.current,
    estimateSize: () => 104,
    getItemKey: (index) => tasks[index]?.id ?? index,
    overscan: 6,
    gap: 8,
    paddingEnd: 8,
  })
  const selected = useDialogs((state) => state.selected)
  const at = tasks.findIndex((task) => task.id === selected)
  // The keyboard may stand on a card that is not drawn: bring it in.
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at)
  }, [at, list])
  return (
    <div
      ref={ref}
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
      tabIndex={0}
      className="min-h-0 flex-1 overflow-y-auto px-2"
    >
      {tasks.length === 0 ? (
        <p className="py-6 text-center text-t4">{t('board.emptyColumn')}</p>
      ) : null}
      <div className="relative" style={{ height: list.getTotalSize() }}>
        {list.getVirtualItems().map((item) => {
          const task = tasks[item.index]
          return task === undefined ? null : (
            <div
              key={item.key}
              ref={list.measureElement}
              data-index={item.index}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <Card task={task} />
            </div>
          )
        })}
      </div>
    </div>
  )
}
