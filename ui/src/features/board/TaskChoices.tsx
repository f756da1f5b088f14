import { useTranslation } from 'react-i18next'
import type { Provider } from '@/api/providers'
import type { NewTask } from '@/api/tasks'
import { Field } from '@/components/Field'
import { Scripted } from '@/components/Mark'
import type { Repo, RepoId } from '@/domain/model'

type ChoiceProps = {
  form: NewTask
  onChange(form: NewTask): void
  repos: Repo[]
  providers: Provider[]
  /** What the host found wrong with a field. */
  wrong(field: string): string | undefined
}

/** Where the work starts and who does it. */
export function TaskChoices({ form, onChange, repos, providers, wrong }: ChoiceProps) {
  const { t } = useTranslation()
  const repo = repos.find((one) => one.id === form.repoId)
  const provider = providers.find((one) => one.name === form.provider)
  return (
    <>
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
      <div className="grid grid-cols-2 gap-3">
        <Branch
          label={t('task.target')}
          help={t('task.targetHelp')}
          error={wrong('target')}
          repo={repo}
          value={form.target}
          onChange={(target) => onChange({ ...form, target })}
        />
        <Branch
          label={t('task.base')}
          help={t('task.baseHelp')}
          error={wrong('base')}
          repo={repo}
          value={form.base}
          onChange={(base) => onChange({ ...form, base })}
        />
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
        <Field label={t('task.model')} error={wrong('model')}>
          {(wire) => (
            <>
              <input
                {...wire}
                value={form.model}
                list={`${wire.id}l`}
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => onChange({ ...form, model: event.target.value })}
              />
              <datalist id={`${wire.id}l`}>
                {provider?.models.map((name) => (
                  <option key={name} value={name} />
                ))}
              </datalist>
            </>
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

type BranchProps = {
  label: string
  help: string
  error: string | undefined
  repo: Repo | undefined
  value: string
  onChange(value: string): void
}

/** Any name, with the branches of the repository to choose from. */
function Branch({ label, help, error, repo, value, onChange }: BranchProps) {
  return (
    <Field label={label} help={help} error={error}>
      {(wire) => (
        <>
          <input
            {...wire}
            value={value}
            list={`${wire.id}b`}
            placeholder={repo?.target}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => onChange(event.target.value)}
          />
          <datalist id={`${wire.id}b`}>
            {repo?.branches.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  )
}
