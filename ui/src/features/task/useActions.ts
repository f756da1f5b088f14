import { useNavigate } from '@tanstack/react-router'
import {
  CirclePlay,
  Eye,
  FlaskConical,
  type LucideIcon,
  OctagonX,
  Trash2,
  XCircle,
} from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useTaskAction } from '@/api/tasks'
import { useFailure } from '@/components/useFailure'
import { type ActionId, actionIds, allowed } from '@/domain/actions'
import type { Task } from '@/domain/model'
import { useToasts } from '@/store/toasts'
import { useWindow } from '@/store/window'

/** One thing a person can do to a task; button, menu, key and drop share it. */
export type TaskAction = {
  id: ActionId
  label: string
  icon: LucideIcon
  danger: boolean
  /** Whether the state of the task allows it; the host may be gone all the same. */
  possible: boolean
  /** Why it is locked; undefined when it may be done. */
  refused: string | undefined
  perform(): void
}

const icons: Record<ActionId, LucideIcon> = {
  run: CirclePlay,
  stop: OctagonX,
  ci: FlaskConical,
  review: Eye,
  cancel: XCircle,
  delete: Trash2,
}

const done = {
  run: 'action.started',
  stop: 'action.stopped',
  ci: 'action.ciStarted',
  cancel: 'action.cancelled',
  delete: 'action.deleted',
} as const

export function usePerform(): (task: Task, action: ActionId) => void {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const { mutateAsync } = useTaskAction()
  const show = useToasts((state) => state.show)
  const failed = useFailure()
  return (task, action) => {
    if (action === 'review') {
      void navigate({
        to: '/tasks/$taskId',
        params: { taskId: task.id },
        search: (old) => ({ ...old, tab: 'review' as const }),
      })
      return
    }
    // The promise is followed, not the component's own callbacks: a card may be
    // gone from its column before the answer comes.
    mutateAsync({ task, action }).then(() => {
      show(t(done[action], { title: task.title }))
      if (action === 'delete') void navigate({ to: '/' })
    }, failed)
  }
}

export function useActions(task: Task): TaskAction[] {
  const { t } = useTranslation()
  const perform = usePerform()
  const online = useWindow((state) => state.online)
  return actionIds.map((id) => {
    const verdict = allowed(task, id)
    const lost = online || id === 'review' ? undefined : t('refusal.offline')
    const again = id === 'run' && task.attempt !== null
    return {
      id,
      label: again ? t('action.retry') : t(`action.${id}`),
      icon: icons[id],
      danger: id === 'delete' || id === 'stop',
      possible: verdict.ok,
      refused: verdict.ok ? lost : t(`refusal.${verdict.why}`),
      perform: () => perform(task, id),
    }
  })
}
