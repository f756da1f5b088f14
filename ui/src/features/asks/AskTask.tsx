import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { useTasks } from '@/api/tasks'
import { Safe } from '@/components/Safe'
import type { TaskId } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'

/** The task an agent works on, with the way there; or the program that asks. */
export function AskTask({ task, name }: { task: TaskId | null; name: string }) {
  const { t } = useTranslation()
  const close = useDialogs((state) => state.close)
  const found = useTasks().data?.find((one) => one.id === task)
  if (found === undefined) {
    return (
      <p className="text-sm break-words text-t2">
        <Safe text={name || t('ask.unnamed')} />
      </p>
    )
  }
  return (
    <Link
      to="/tasks/$taskId"
      params={{ taskId: found.id }}
      onClick={close}
      className="text-sm break-words text-cyan hover:underline"
    >
      #{found.number} <Safe text={found.title} />
    </Link>
  )
}
