import { useTranslation } from 'react-i18next'
import { causeKey } from '@/domain/cause'
import type { Task } from '@/domain/model'
import { Safe } from './Safe'

/** Why a task stands where it stands. Text of the host is shown as text. */
export function Cause({ task }: { task: Task }) {
  const { t } = useTranslation()
  const key = causeKey(task)
  if (key === undefined) return <Safe text={task.cause} />
  return <Safe text={t(`cause.${key}`, { target: task.target })} />
}
