import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { useTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { isLive } from '@/domain/column'
import { isTyping } from '@/domain/keyboard'
import type { TaskId } from '@/domain/model'
import { TaskPanel } from '@/features/task/TaskPanel'
import { useDialogs } from '@/store/dialogs'

/** One component for a task: a drawer over the board, or the whole page. */
export function TaskPage() {
  const { t } = useTranslation()
  const id = useParams({ from: '/board/tasks/$taskId' }).taskId as TaskId
  const { tab, wide = false } = useSearch({ from: '/board' })
  const navigate = useNavigate()
  const task = useTask(id)
  const close = () =>
    void navigate({
      to: '/',
      search: (old) => ({ ...old, tab: undefined, wide: undefined }),
    })
  useEscape(close)
  const missing = task.error instanceof Problem && task.error.status === 404
  return (
    <aside
      aria-label={t('task.drawer')}
      className={cn(
        'flex min-w-0 flex-col border-l border-line bg-panel',
        wide ? 'flex-1' : 'w-[62%] max-w-[1100px] min-w-[520px]',
      )}
    >
      {missing ? (
        <Empty title={t('task.missing')}>
          <Button onClick={close}>{t('common.close')}</Button>
        </Empty>
      ) : null}
      {task.isError && !missing ? (
        <ErrorNote error={task.error} onRetry={() => void task.refetch()} />
      ) : null}
      {task.isPending ? <SkeletonLines lines={10} /> : null}
      {task.data === undefined ? null : (
        <TaskPanel
          task={task.data}
          tab={tab ?? (isLive(task.data.status) ? 'log' : 'diff')}
          onTab={(next) => void navigate({ to: '.', search: (old) => ({ ...old, tab: next }) })}
          wide={wide}
          onWide={() =>
            void navigate({
              to: '.',
              search: (old) => ({ ...old, wide: wide ? undefined : true }),
            })
          }
          onClose={close}
        />
      )}
    </aside>
  )
}

function useEscape(close: () => void): void {
  const none = useDialogs((state) => state.open.kind === 'none')
  useEffect(() => {
    if (!none) return
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || isTyping(event.target)) return
      if (event.target instanceof Element && event.target.closest('[role="menu"]') !== null) return
      close()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [none, close])
}
