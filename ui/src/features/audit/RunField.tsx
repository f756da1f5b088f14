import { useTranslation } from 'react-i18next'
import { useTasks } from '@/api/tasks'
import { plain } from '@/domain/bidi'

type Props = { label: string; value: string; runs: readonly string[]; onRun(run: string): void }

/** Runs by the task they belong to, the newest first; one from a link stays in the list. */
export function RunField({ label, value, runs, onRun }: Props) {
  const { t } = useTranslation()
  const tasks = useTasks().data ?? []
  const nameOf = (run: string) => {
    const task = tasks.find((one) => one.attempt?.run?.id === run)
    return task === undefined ? run : `#${task.number} ${plain(task.title).slice(0, 60)} · ${run}`
  }
  const all = value === '' || runs.includes(value) ? runs : [value, ...runs]
  return (
    <label className="flex min-w-0 flex-1 flex-col gap-0.5 text-sm text-t3">
      {label}
      <select
        value={value}
        onChange={(event) => onRun(event.target.value)}
        className="h-7 w-full rounded-md border border-line-strong bg-inset px-2 text-base text-t1"
      >
        <option value="">{t('trace.chooseRun')}</option>
        {all.map((run) => (
          <option key={run} value={run}>
            {nameOf(run)}
          </option>
        ))}
      </select>
    </label>
  )
}
