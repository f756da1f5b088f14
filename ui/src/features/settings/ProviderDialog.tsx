import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import {
  isModel,
  type Provider,
  type ProviderKind,
  providerKinds,
  usePutProvider,
} from '@/api/providers'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'
import { ProviderFields } from './ProviderFields'
import { changeOf, emptyForm, formOf } from './providerForm'

type Props = { provider: Provider | null; onClose(): void }

/** Who can use a provider of the kind. */
function kindHelp(kind: ProviderKind) {
  if (kind === 'anthropic') return 'settings.kindRuns'
  return isModel(kind) ? 'settings.kindClients' : 'settings.kindTool'
}

const fieldNames = ['base_url', 'git_url', 'hosts', 'auth_region', 'auth_service', 'models']

/** Adds a provider, or edits one: its name stays, its key is not touched. */
export function ProviderDialog({ provider, onClose }: Props) {
  const { t } = useTranslation()
  const [form, setForm] = useState(provider === null ? emptyForm : formOf(provider))
  const put = usePutProvider()
  const problem = put.error instanceof Problem ? put.error : null
  // The host says by its code which field a sentence of its own is about.
  const wrong = (name: string) => {
    if (name === 'name' && problem?.field('name') !== undefined) return t('settings.nameWrong')
    return problem?.field(name) ?? (problem?.code === name ? problem.message : undefined)
  }
  const placed = ['name', 'kind', ...fieldNames].some((name) => wrong(name) !== undefined)
  const submit = () =>
    put.mutate({ name: form.name.trim(), change: changeOf(form) }, { onSuccess: onClose })
  const title =
    provider === null
      ? t('settings.addProvider')
      : t('settings.editProvider', { name: provider.name })
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        className="flex min-h-0 flex-col"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div className="flex flex-col gap-3 overflow-y-auto p-4">
          {provider === null ? (
            <Field label={t('repo.name')} help={t('settings.nameHelp')} error={wrong('name')}>
              {(wire) => (
                <input
                  {...wire}
                  value={form.name}
                  autoComplete="off"
                  onChange={(event) => setForm({ ...form, name: event.target.value })}
                />
              )}
            </Field>
          ) : null}
          <Field
            label={t('settings.kindLabel')}
            help={t(kindHelp(form.kind))}
            error={wrong('kind')}
          >
            {(wire) => (
              <select
                {...wire}
                value={form.kind}
                onChange={(event) => {
                  const kind = providerKinds.find((one) => one === event.target.value)
                  if (kind !== undefined) setForm({ ...form, kind })
                }}
              >
                {providerKinds.map((kind) => (
                  <option key={kind}>{kind}</option>
                ))}
              </select>
            )}
          </Field>
          <ProviderFields form={form} onChange={setForm} wrong={wrong} />
          {put.error === null || placed ? null : <ErrorNote error={put.error} />}
        </div>
        <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button
            type="submit"
            look="solid"
            changes
            disabled={put.isPending || form.name.trim() === ''}
          >
            {t(provider === null ? 'common.add' : 'common.save')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
