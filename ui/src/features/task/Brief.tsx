import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEditTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { Claimed } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import { isLive } from '@/domain/column'
import type { Skipped, Task } from '@/domain/model'

/** What was asked, and what the agent says it did. */
export function Brief({ task }: { task: Task }) {
  const { t } = useTranslation()
  const [editing, setEditing] = useState(false)
  const editable = !isLive(task.status) && task.column !== 'done'
  if (editing) return <Edit task={task} onClose={() => setEditing(false)} />
  return (
    <div className="flex flex-col gap-2 border-b border-line px-4 py-2">
      <div className="flex items-start gap-2">
        <p className="max-h-24 min-w-0 flex-1 overflow-y-auto break-words whitespace-pre-wrap text-t2">
          {task.detail === '' ? t('task.noDetail') : <Safe text={task.detail} />}
        </p>
        {editable ? (
          <Button look="ghost" size="small" onClick={() => setEditing(true)}>
            <Pencil aria-hidden />
            {t('task.edit')}
          </Button>
        ) : null}
      </div>
      {task.attempt?.summary ? <Summary text={task.attempt.summary} /> : null}
      {task.attempt?.skipped.length ? <SkippedPaths paths={task.attempt.skipped} /> : null}
    </div>
  )
}

function Summary({ text }: { text: string }) {
  const { t } = useTranslation()
  return (
    <section aria-label={t('task.summary')} className="claimed rounded-md p-2">
      <Claimed>{t('task.summary')}</Claimed>
      <p className="mt-1 max-h-24 overflow-y-auto break-words whitespace-pre-wrap">
        <Safe text={text} />
      </p>
    </section>
  )
}

function SkippedPaths({ paths }: { paths: Skipped[] }) {
  const { t } = useTranslation()
  return (
    <details className="text-amber">
      <summary>{t('task.skipped', { count: paths.length, n: paths.length })}</summary>
      <ul className="mt-1 max-h-32 overflow-y-auto pl-4 font-mono text-sm text-t2">
        {paths.map((one) => (
          <li key={one.path}>
            <Safe text={one.path} /> – {one.reason}
          </li>
        ))}
      </ul>
    </details>
  )
}

function Edit({ task, onClose }: { task: Task; onClose(): void }) {
  const { t } = useTranslation()
  const [form, setForm] = useState({ title: task.title, detail: task.detail })
  const edit = useEditTask(task)
  return (
    <form
      noValidate
      className="flex flex-col gap-2 border-b border-line px-4 py-2"
      onSubmit={(event) => {
        event.preventDefault()
        edit.mutate(form, { onSuccess: onClose })
      }}
    >
      <Field label={t('task.title')}>
        {(wire) => (
          <input
            {...wire}
            maxLength={300}
            value={form.title}
            onChange={(event) => setForm({ ...form, title: event.target.value })}
          />
        )}
      </Field>
      <Field label={t('task.detail')} help={t('task.detailHelp')}>
        {(wire) => (
          <textarea
            {...wire}
            rows={5}
            value={form.detail}
            onChange={(event) => setForm({ ...form, detail: event.target.value })}
          />
        )}
      </Field>
      {edit.error === null ? null : <ErrorNote error={edit.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" look="solid" disabled={edit.isPending || form.title.trim() === ''}>
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}
