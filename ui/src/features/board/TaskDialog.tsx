import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { type Provider, useProviders } from '@/api/providers'
import { useRepos } from '@/api/repos'
import { type NewTask, useCreateTask } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Field } from '@/components/Field'
import { Scripted } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { Repo, RepoId, Task } from '@/domain/model'
import { usePerform } from '@/features/task/useActions'
import { useDialogs } from '@/store/dialogs'
import { useToasts } from '@/store/toasts'

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
        <Choices
          form={form}
          onChange={setForm}
          repos={repos}
          providers={providers}
          base={field('base')}
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

type ChoiceProps = {
  form: NewTask
  onChange(form: NewTask): void
  repos: Repo[]
  providers: Provider[]
  base: string | undefined
}

function Choices({ form, onChange, repos, providers, base }: ChoiceProps) {
  const { t } = useTranslation()
  const repo = repos.find((one) => one.id === form.repoId)
  const provider = providers.find((one) => one.name === form.provider)
  return (
    <>
      <div className="grid grid-cols-2 gap-3">
        <Field label={t('task.repo')}>
          {(wire) => (
            <select
              {...wire}
              value={form.repoId}
              onChange={(event) => onChange({ ...form, repoId: event.target.value as RepoId })}
            >
              {repos.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('task.base')} help={t('task.baseHelp')} error={base}>
          {(wire) => (
            <input
              {...wire}
              value={form.base}
              placeholder={repo?.target}
              spellCheck={false}
              autoComplete="off"
              onChange={(event) => onChange({ ...form, base: event.target.value })}
            />
          )}
        </Field>
      </div>
      <div className="grid grid-cols-2 gap-3">
        <Field label={t('task.provider')}>
          {(wire) => (
            <select
              {...wire}
              value={form.provider}
              onChange={(event) => {
                const next = providers.find((one) => one.name === event.target.value)
                onChange({ ...form, provider: event.target.value, model: next?.models[0] ?? '' })
              }}
            >
              {providers.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.name}
                  {one.scripted || one.hasSecret ? '' : ` (${t('settings.noKey')})`}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t('task.model')}>
          {(wire) => (
            <select
              {...wire}
              value={form.model}
              onChange={(event) => onChange({ ...form, model: event.target.value })}
            >
              {provider?.models.map((model) => (
                <option key={model}>{model}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <p className="flex items-center gap-2 text-sm text-t3">
        {t('task.template')}: {t('task.solo')}
        {provider?.scripted ? <Scripted /> : null}
      </p>
    </>
  )
}
