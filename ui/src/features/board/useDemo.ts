import { useNavigate } from '@tanstack/react-router'
import { useBeginDemo } from '@/api/tasks'
import { useFailure } from '@/components/useFailure'
import { usePerform } from '@/features/task/useActions'

/** Makes the demo's repository and task, runs it, and shows it working. */
export function useDemo(): { busy: boolean; begin(): void } {
  const demo = useBeginDemo()
  const perform = usePerform()
  const navigate = useNavigate()
  const failed = useFailure()
  // The empty board is gone as soon as the task exists: follow the promise.
  const begin = () =>
    void demo.mutateAsync().then((task) => {
      perform(task, 'run')
      void navigate({
        to: '/tasks/$taskId',
        params: { taskId: task.id },
        search: { tab: 'log' as const },
      })
    }, failed)
  return { busy: demo.isPending, begin }
}
