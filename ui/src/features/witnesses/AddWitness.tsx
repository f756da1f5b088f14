import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { usePutWitness, type WitnessForm } from '@/api/auditWitness'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'
import { useToasts } from '@/store/toasts'

/** A list of checkpoints in a file, on another volume at best. */
export function AddFile() {
  const { t } = useTranslation()
  const [path, setPath] = useState('')
  const form: WitnessForm = { kind: 'file', path: path.trim() }
  return (
    <Form
      title={t('witness.addFile')}
      button={t('witness.add')}
      form={form}
      name={path.trim()}
      ready={path.trim() !== ''}
      onAdded={() => setPath('')}
    >
      <Text
        label={t('witness.path')}
        help={t('witness.pathHelp')}
        value={path}
        onChange={setPath}
      />
    </Form>
  )
}

/** Somebody who cosigns checkpoints. */
export function AddUrl() {
  const { t } = useTranslation()
  const [url, setUrl] = useState('')
  const [key, setKey] = useState('')
  const [local, setLocal] = useState(false)
  const form: WitnessForm = { kind: 'url', url: url.trim(), key: key.trim(), local }
  return (
    <Form
      title={t('witness.addUrl')}
      button={t('witness.addWitness')}
      form={form}
      name={url.trim()}
      ready={url.trim() !== '' && key.trim() !== ''}
      onAdded={() => {
        setUrl('')
        setKey('')
        setLocal(false)
      }}
    >
      <Text label={t('witness.url')} help={t('witness.urlHelp')} value={url} onChange={setUrl} />
      <Text label={t('witness.key')} help={t('witness.keyHelp')} value={key} onChange={setKey} />
      <label className="flex items-start gap-2 text-sm">
        <input
          type="checkbox"
          className="mt-0.5"
          checked={local}
          onChange={(event) => setLocal(event.target.checked)}
        />
        {t('witness.local')}
      </label>
    </Form>
  )
}

type FormProps = {
  title: string
  button: string
  form: WitnessForm
  /** As it is told that it was added. */
  name: string
  ready: boolean
  onAdded(): void
  children: ReactNode
}

function Form({ title, button, form, name, ready, onAdded, children }: FormProps) {
  const { t } = useTranslation()
  const id = useId()
  const put = usePutWitness()
  const show = useToasts((state) => state.show)
  const send = (event: FormEvent) => {
    event.preventDefault()
    if (!ready || put.isPending) return
    put.mutate(form, {
      onSuccess: () => {
        show(t('witness.saved', { name }))
        onAdded()
      },
    })
  }
  return (
    <form aria-labelledby={id} className="flex flex-col gap-2" onSubmit={send}>
      <h3 id={id} className="font-medium">
        {title}
      </h3>
      {children}
      <Button
        type="submit"
        changes
        disabled={!ready || put.isPending}
        aria-busy={put.isPending}
        className="self-start"
      >
        {button}
      </Button>
      {put.error === null ? null : <ErrorNote error={put.error} />}
    </form>
  )
}

type TextProps = { label: string; help: string; value: string; onChange(value: string): void }

function Text({ label, help, value, onChange }: TextProps) {
  return (
    <Field label={label} help={help}>
      {(wire) => (
        <input
          {...wire}
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}
