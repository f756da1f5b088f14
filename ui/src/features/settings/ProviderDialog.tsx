import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { type ProviderKind, providerKinds, usePutProvider } from '@/api/providers'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'

export function ProviderDialog({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  const [form, setForm] = useState({
    name: '',
    kind: 'anthropic' as ProviderKind,
    url: '',
    models: '',
  })
  const put = usePutProvider()
  const wrong = (name: string) => (put.error instanceof Problem ? put.error.field(name) : undefined)
  const submit = () =>
    put.mutate(
      {
        name: form.name.trim(),
        kind: form.kind,
        baseUrl: form.url.trim(),
        models: form.models
          .split('\n')
          .map((model) => model.trim())
          .filter(Boolean),
      },
      { onSuccess: onClose },
    )
  return (
    <Dialog title={t('settings.addProvider')} onClose={onClose}>
      <form
        noValidate
        className="flex flex-col"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <div className="flex flex-col gap-3 p-4">
          <Field label={t('repo.name')} error={wrong('name')}>
            {(wire) => (
              <input
                {...wire}
                value={form.name}
                autoComplete="off"
                onChange={(event) => setForm({ ...form, name: event.target.value })}
              />
            )}
          </Field>
          <Field label={t('settings.kindLabel')} error={wrong('kind')}>
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
          <Field label={t('settings.baseUrl')} error={wrong('base_url')}>
            {(wire) => (
              <input
                {...wire}
                value={form.url}
                spellCheck={false}
                autoComplete="off"
                onChange={(event) => setForm({ ...form, url: event.target.value })}
              />
            )}
          </Field>
          <Field
            label={t('settings.models')}
            help={t('settings.modelsHelp')}
            error={wrong('models')}
          >
            {(wire) => (
              <textarea
                {...wire}
                rows={3}
                value={form.models}
                onChange={(event) => setForm({ ...form, models: event.target.value })}
              />
            )}
          </Field>
          {put.error === null ? null : <ErrorNote error={put.error} />}
        </div>
        <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button type="submit" look="solid" disabled={put.isPending || form.name.trim() === ''}>
            {t('common.add')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
