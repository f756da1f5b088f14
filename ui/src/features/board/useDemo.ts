import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { useBeginDemo } from '@/api/tasks'
import { usePerform } from '@/features/task/useActions'
import { useToasts } from '@/store/toasts'

/** Makes the demo's repository and task, runs it, and shows it working. */
export function useDemo(): { busy: boolean; begin(): void } {
  const { t } = useTranslation()
  const demo = useBeginDemo()
  const perform = usePerform()
  const navigate = useNavigate()
  const show = useToasts((state) => state.show)
  // The empty board is gone as soon as the task exists: follow the promise.
  const begin = () =>
    void demo.mutateAsync().then(
      (task) => {
        perform(task, 'run')
        void navigate({
          to: '/tasks/$taskId',
          params: { taskId: task.id },
          search: { tab: 'log' as const },
        })
      },
      (error: Error) =>
        show(
          error.message || t('error.network'),
          'red',
          error instanceof Problem ? error.next : '',
        ),
    )
  return { busy: demo.isPending, begin }
}
