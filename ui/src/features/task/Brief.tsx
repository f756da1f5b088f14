import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useEditTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import { editable } from '@/domain/actions'
import type { Task } from '@/domain/model'

/** What was asked. */
export function Brief({ task }: { task: Task }) {
  const { t } = useTranslation()
  const [editing, setEditing] = useState(false)
  const verdict = editable(task)
  if (editing) return <Edit task={task} onClose={() => setEditing(false)} />
  const [firstLine = ''] = task.detail.split('\n')
  return (
    // Open until there is something better to look at.
    <details open={task.attempt === null} className="group border-b border-line px-4 py-1.5">
      <summary className="truncate text-t2 group-open:text-t3">
        {firstLine === '' ? t('task.noDetail') : <Safe text={firstLine} />}
      </summary>
      <div className="mt-1 flex flex-col gap-2">
        <div className="flex items-start gap-2">
          <p
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
            tabIndex={0}
            className="max-h-40 min-w-0 flex-1 overflow-y-auto break-words whitespace-pre-wrap text-t2"
          >
            <Safe text={task.detail} />
          </p>
          {verdict.ok ? (
            <Button look="ghost" size="small" changes onClick={() => setEditing(true)}>
              <Pencil aria-hidden />
              {t('task.edit')}
            </Button>
          ) : null}
        </div>
        {verdict.ok ? null : <p className="text-sm text-t3">{t(`refusal.${verdict.why}`)}</p>}
      </div>
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
        <Button
          type="submit"
          look="solid"
          changes
          disabled={edit.isPending || form.title.trim() === ''}
        >
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}
