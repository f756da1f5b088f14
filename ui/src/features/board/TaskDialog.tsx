import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { type Provider, useProviders } from '@/api/providers'
import { useRepos } from '@/api/repos'
import { type NewTask, useCreateTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Field } from '@/components/Field'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { Repo, RepoId, Task } from '@/domain/model'
import { usePerform } from '@/features/task/useActions'
import { useDialogs } from '@/store/dialogs'
import { useToasts } from '@/store/toasts'
import { TaskChoices } from './TaskChoices'

type Props = { repo: RepoId | null; onClose(): void; onCreated(task: Task): void }

export function TaskDialog({ repo, onClose, onCreated }: Props) {
  const { t } = useTranslation()
  const repos = useRepos().data
  const providers = useProviders().data
  const show = useDialogs((state) => state.show)
  return (
    <Dialog title={t('task.create')} onClose={onClose}>
      {repos === undefined || providers === undefined ? (
        <SkeletonLines lines={6} />
      ) : repos.length === 0 ? (
        <Empty title={t('first.title')} help={t('first.help')}>
          <Button look="solid" onClick={() => show({ kind: 'repo', repo: null })}>
            {t('repo.add')}
          </Button>
        </Empty>
      ) : (
        <Form
          repos={repos}
          providers={providers.filter((one) => one.runnable)}
          first={repos.find((one) => one.id === repo) ?? repos[0]}
          onClose={onClose}
          onCreated={onCreated}
        />
      )}
    </Dialog>
  )
}

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

function Form({ repos, providers, first, onClose, onCreated }: FormProps) {
  const { t } = useTranslation()
  const start = startProvider(providers)
  const [form, setForm] = useState<NewTask>({
    repoId: (first?.id ?? '') as RepoId,
    title: '',
    detail: '',
    base: '',
    provider: start?.name ?? '',
    model: start?.models[0] ?? '',
  })
  const [tried, setTried] = useState(false)
  const create = useCreateTask()
  const perform = usePerform()
  const show = useToasts((state) => state.show)
  const submit = (run: boolean) => {
    setTried(true)
    if (form.title.trim() === '') return
    create.mutate(form, {
      onSuccess(task) {
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
        <Field label={t('task.title')} error={missing ?? field('title')}>
          {(wire) => (
            <input
              {...wire}
              maxLength={300}
              value={form.title}
              autoComplete="off"
              onChange={(event) => setForm({ ...form, title: event.target.value })}
            />
          )}
        </Field>
        <Field label={t('task.detail')} help={t('task.detailHelp')} error={field('detail')}>
          {(wire) => (
            <textarea
              {...wire}
              rows={6}
              value={form.detail}
              onChange={(event) => setForm({ ...form, detail: event.target.value })}
            />
          )}
        </Field>
        <TaskChoices
          form={form}
          onChange={setForm}
          repos={repos}
          providers={providers}
          base={field('base')}
          model={field('model')}
        />
        {create.error === null ? null : <ErrorNote error={create.error} />}
      </div>
      <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" disabled={create.isPending}>
          {t('common.create')}
        </Button>
        <Button look="solid" disabled={create.isPending} onClick={() => submit(true)}>
          {t('task.createRun')}
        </Button>
      </div>
    </form>
  )
}
