import { type ReactNode, useId } from 'react'
import { useTranslation } from 'react-i18next'
import { Field } from '@/components/Field'
import { type ProviderForm, partsOf } from './providerForm'

type Props = {
  form: ProviderForm
  onChange(form: ProviderForm): void
  wrong(name: string): string | undefined
}

/** The fields that the chosen kind has. */
export function ProviderFields({ form, onChange, wrong }: Props) {
  const { t } = useTranslation()
  const parts = partsOf(form.kind)
  const line = (key: 'url' | 'gitUrl' | 'region' | 'service') => ({
    value: form[key],
    spellCheck: false,
    autoComplete: 'off',
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...form, [key]: event.target.value }),
  })
  const area = (key: 'models' | 'hosts') => ({
    rows: 3,
    value: form[key],
    spellCheck: false,
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...form, [key]: event.target.value }),
  })
  return (
    <>
      {parts.includes('url') ? (
        <Field
          label={t('settings.baseUrl')}
          help={t(form.local ? 'settings.localUrlHelp' : 'settings.baseUrlHelp')}
          error={wrong('base_url')}
        >
          {(wire) => <input {...wire} {...line('url')} />}
        </Field>
      ) : null}
      {parts.includes('local') ? (
        <Check
          checked={form.local}
          help={t('settings.localHelp')}
          onChange={(local) => onChange({ ...form, local })}
        >
          {t('settings.local')}
        </Check>
      ) : null}
      {parts.includes('gitUrl') ? (
        <Field
          label={t('settings.gitUrl')}
          help={t('settings.gitUrlHelp')}
          error={wrong('git_url')}
        >
          {(wire) => <input {...wire} {...line('gitUrl')} />}
        </Field>
      ) : null}
      {parts.includes('hosts') ? (
        <Field label={t('settings.hosts')} help={t('settings.hostsHelp')} error={wrong('hosts')}>
          {(wire) => <textarea {...wire} {...area('hosts')} />}
        </Field>
      ) : null}
      {parts.includes('signature') ? (
        <div className="grid grid-cols-2 gap-3">
          <Field label={t('settings.region')} error={wrong('auth_region')}>
            {(wire) => <input {...wire} {...line('region')} />}
          </Field>
          <Field label={t('settings.service')} error={wrong('auth_service')}>
            {(wire) => <input {...wire} {...line('service')} />}
          </Field>
        </div>
      ) : null}
      {parts.includes('models') ? (
        <Field label={t('settings.models')} help={t('settings.modelsHelp')} error={wrong('models')}>
          {(wire) => <textarea {...wire} {...area('models')} />}
        </Field>
      ) : null}
    </>
  )
}

type CheckProps = {
  checked: boolean
  help: string
  children: ReactNode
  onChange(on: boolean): void
}

function Check({ checked, help, children, onChange }: CheckProps) {
  const id = useId()
  return (
    <div className="flex flex-col gap-1">
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          aria-describedby={id}
          checked={checked}
          onChange={(event) => onChange(event.target.checked)}
        />
        {children}
      </label>
      <p id={id} className="text-sm text-t3">
        {help}
      </p>
    </div>
  )
}
