import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isModel, type Provider } from '@/api/providers'
import type { NewSession } from '@/api/sessions'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { ErrorNote } from '@/components/State'
import { readLimit } from '@/domain/budget'
import { lines } from '@/domain/policy'
import { defaultTokens, lifetimes } from '@/domain/program'
import { count } from '@/domain/time'
import { LimitFields } from '@/features/budgets/LimitFields'
import { Choices } from './Choices'
import { GrantFields } from './GrantFields'

type Props = {
  providers: Provider[]
  busy: boolean
  error: Error | null
  onCreate(form: NewSession): void
  onClose(): void
}

export function SessionForm({ providers, busy, error, onCreate, onClose }: Props) {
  const { t, i18n } = useTranslation()
  const [form, setForm] = useState({
    name: '',
    reach: [] as string[],
    grants: [] as string[],
    more: '',
    repos: '',
    tokens: '',
    usd: '',
    seconds: lifetimes[0] as number,
    unattended: false,
  })
  const [tried, setTried] = useState(false)
  const chosen = providers.filter((one) => form.reach.includes(one.name))
  const repositories = chosen.some((one) => one.kind === 'github' || one.kind === 'git')
  const models = chosen.some((one) => isModel(one.kind))
  const read = readLimit(form, 'wrong')
  const submit = () => {
    setTried(true)
    if (form.reach.length === 0 || read.wrong.tokens || read.wrong.usd) return
    onCreate({
      name: form.name.trim(),
      reach: form.reach,
      grants: models ? [...form.grants, ...lines(form.more)] : [],
      repos: repositories ? lines(form.repos) : [],
      limit: read.limit,
      seconds: form.seconds,
      unattended: form.unattended,
    })
  }
  return (
    <form
      noValidate
      className="flex min-h-0 flex-col"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <div className="flex flex-col gap-4 overflow-y-auto p-4">
        <Field label={t('repo.name')} help={t('program.nameHelp')}>
          {(wire) => (
            <input
              {...wire}
              maxLength={80}
              autoComplete="off"
              value={form.name}
              onChange={(event) => setForm({ ...form, name: event.target.value })}
            />
          )}
        </Field>
        <Choices
          legend={t('program.reach')}
          help={t('program.reachHelp')}
          error={tried && form.reach.length === 0 ? t('common.required') : undefined}
          options={providers.map(({ name, kind, hasSecret, needsKey }) => ({
            value: name,
            label: name,
            note: needsKey && !hasSecret ? t('settings.noKey') : name === kind ? '' : kind,
          }))}
          chosen={form.reach}
          onChange={(reach) => setForm({ ...form, reach })}
        />
        {models ? (
          <GrantFields
            chosen={form.grants}
            more={form.more}
            onChange={(grants, more) => setForm({ ...form, grants, more })}
          />
        ) : null}
        {repositories ? (
          <Field label={t('program.repos')} help={t('program.reposHelp')}>
            {(wire) => (
              <textarea
                {...wire}
                rows={2}
                spellCheck={false}
                placeholder="owner/name"
                value={form.repos}
                onChange={(event) => setForm({ ...form, repos: event.target.value })}
              />
            )}
          </Field>
        ) : null}
        <LimitFields
          text={form}
          onChange={({ tokens, usd }) => setForm({ ...form, tokens, usd })}
          wrong={tried ? read.wrong : null}
          help={t('program.budgetHelp', { n: count(defaultTokens, i18n.language) })}
        />
        <Field label={t('program.lifetime')} help={t('program.lifetimeHelp')}>
          {(wire) => (
            <select
              {...wire}
              value={form.seconds}
              onChange={(event) => setForm({ ...form, seconds: Number(event.target.value) })}
            >
              {lifetimes.map((seconds) => (
                <option key={seconds} value={seconds}>
                  {t('program.hours', { count: seconds / 3600, n: seconds / 3600 })}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Choices
          legend={t('program.presence')}
          help={t('program.unattendedHelp')}
          error={undefined}
          options={[{ value: 'unattended', label: t('program.unattended'), note: '' }]}
          chosen={form.unattended ? ['unattended'] : []}
          onChange={(list) => setForm({ ...form, unattended: list.length > 0 })}
        />
        {error === null ? null : <ErrorNote error={error} />}
      </div>
      <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" look="solid" changes disabled={busy}>
          {t('program.create')}
        </Button>
      </div>
    </form>
  )
}
