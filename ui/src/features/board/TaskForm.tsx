import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import type { Provider } from '@/api/providers'
import { type NewTask, useCreateTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'
import type { Repo, RepoId, Task } from '@/domain/model'
import { usePerform } from '@/features/task/useActions'
import { type Draft, useDraft } from '@/store/draft'
import { useToasts } from '@/store/toasts'
import { TaskChoices } from './TaskChoices'

type FormProps = {
  repos: Repo[]
  providers: Provider[]
  first: Repo | undefined
  onClose(): void
  onCreated(task: Task): void
}

/** With a key set the person most likely means that model, else the demo. */
function startProvider(providers: Provider[]): Provider | undefined {
  return (
    providers.find((one) => one.hasSecret && !one.scripted) ??
    providers.find((one) => one.scripted) ??
    providers[0]
  )
}

export function TaskForm({ repos, providers, first, onClose, onCreated }: FormProps) {
  const { t } = useTranslation()
  const start = startProvider(providers)
  const { draft, keep, discard, sent } = useDraft()
  const blank: NewTask = {
    repoId: (first?.id ?? '') as RepoId,
    title: '',
    detail: '',
    base: '',
    target: '',
    provider: start?.name ?? '',
    model: start?.models[0] ?? '',
  }
  const [form, setForm] = useState<NewTask>(() => restored(draft, repos, blank))
  const [old, setOld] = useState(draft !== null)
  const change = (next: NewTask) => {
    setForm(next)
    keep(next)
  }
  const title = useRef<HTMLDivElement>(null)
  const [tried, setTried] = useState(false)
  const create = useCreateTask()
  const perform = usePerform()
  const show = useToasts((state) => state.show)
  const submit = (run: boolean) => {
    setTried(true)
    if (form.title.trim() === '') {
      title.current?.querySelector('input')?.focus()
      return
    }
    create.mutate(form, {
      onSuccess(task) {
        sent(form.repoId)
        if (run) perform(task, 'run')
        else show(t('task.created', { title: task.title }))
        onCreated(task)
      },
    })
  }
  const missing = tried && form.title.trim() === '' ? t('common.required') : undefined
  const field = (name: string) =>
    create.error instanceof Problem ? create.error.field(name) : undefined
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit(false)
      }}
      className="flex min-h-0 flex-col"
    >
      <div className="flex flex-col gap-3 overflow-y-auto p-4">
        {old ? (
          <Before
            onDiscard={() => {
              discard()
              setForm(blank)
              setOld(false)
            }}
          />
        ) : null}
        <div ref={title}>
          <Field label={t('task.title')} error={missing ?? field('title')}>
            {(wire) => (
              <input
                {...wire}
                maxLength={300}
                value={form.title}
                autoComplete="off"
                onChange={(event) => change({ ...form, title: event.target.value })}
              />
            )}
          </Field>
        </div>
        <Field label={t('task.detail')} help={t('task.detailHelp')} error={field('detail')}>
          {(wire) => (
            <textarea
              {...wire}
              rows={6}
              value={form.detail}
              onChange={(event) => change({ ...form, detail: event.target.value })}
            />
          )}
        </Field>
        <TaskChoices
          form={form}
          onChange={change}
          repos={repos}
          providers={providers}
          wrong={field}
        />
        {create.error === null ? null : <ErrorNote error={create.error} />}
      </div>
      <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" changes disabled={create.isPending}>
          {t('common.create')}
        </Button>
        <Button
          data-main
          changes
          look="solid"
          disabled={create.isPending}
          onClick={() => submit(true)}
        >
          {t('task.createRun')}
          <kbd className="font-mono text-xs">Ctrl ⏎</kbd>
        </Button>
      </div>
    </form>
  )
}

/** A draft as it was left, as far as its repository is still there. */
function restored(draft: Draft | null, repos: Repo[], blank: NewTask): NewTask {
  if (draft === null) return blank
  const repo = repos.find((one) => one.id === draft.repoId)
  return { ...draft, repoId: repo?.id ?? blank.repoId }
}

function Before({ onDiscard }: { onDiscard(): void }) {
  const { t } = useTranslation()
  return (
    <p className="flex items-center gap-2 text-sm text-t3">
      <span className="flex-1">{t('task.draft')}</span>
      <Button size="small" onClick={onDiscard}>
        {t('common.discard')}
      </Button>
    </p>
  )
}
