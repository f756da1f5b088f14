import { useTranslation } from 'react-i18next'
import { useTasks } from '@/api/tasks'
import type { StageRef } from '@/domain/auditCall'

/** Names that the board knows for the ids of the log. */
export function useNames() {
  const { t } = useTranslation()
  const tasks = useTasks().data ?? []
  const task = (id: string) => tasks.find((one) => one.id === id)
  return {
    /** undefined: calls of no task. A task that is no longer on the board keeps its id. */
    task: (id: string): string | undefined => {
      if (id === '') return undefined
      const known = task(id)
      return known === undefined ? id : `#${known.number} ${known.title}`
    },
    stage: (stage: StageRef & { agent?: string }): string => {
      const run = task(stage.task)?.attempt?.run
      const known = run?.stages.find((one) => one.id === stage.stage)
      const name = known?.name ?? stage.agent ?? ''
      if (stage.stage === '')
        return name === '' ? t('trace.noStage') : `${name} · ${t('trace.noStage')}`
      const id = stage.stage.slice(0, 8)
      return name === '' ? stage.stage : `${name} · ${id}`
    },
  }
}
