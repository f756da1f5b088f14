import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { Field } from '@/components/Field'
import { shellWords, splitWords } from '@/domain/argv'
import type { RepoDraft } from './draft'
import { fieldOf } from './field'

type Props = {
  draft: RepoDraft
  onChange(draft: RepoDraft): void
  problem: Error | null
  editing: boolean
}

export function RepoFields({ draft, onChange, problem, editing }: Props) {
  const { t } = useTranslation()
  const place = problem instanceof Problem ? fieldOf(problem) : null
  const wrong = (field: string): string | undefined => {
    if (!(problem instanceof Problem) || place !== field) return undefined
    return [problem.field(field) ?? problem.message, problem.next].filter(Boolean).join(' – ')
  }
  const text = (key: keyof RepoDraft) => ({
    value: draft[key],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, [key]: event.target.value }),
  })
  return (
    <div className="flex flex-col gap-3 overflow-y-auto p-4">
      <Field label={t('repo.path')} help={t('repo.pathHelp')} error={wrong('path')}>
        {(wire) => (
          <input
            {...wire}
            {...text('path')}
            required
            readOnly={editing}
            spellCheck={false}
            autoComplete="off"
            className={`${wire.className} font-mono`}
          />
        )}
      </Field>
      <div className="grid grid-cols-2 gap-3">
        <Field label={t('repo.name')} help={t('repo.nameHelp')} error={wrong('name')}>
          {(wire) => <input {...wire} {...text('name')} readOnly={editing} autoComplete="off" />}
        </Field>
        <Field label={t('repo.target')} help={t('repo.targetHelp')} error={wrong('target')}>
          {(wire) => <input {...wire} {...text('target')} spellCheck={false} autoComplete="off" />}
        </Field>
      </div>
      <CommandField draft={draft} error={wrong('ci')} text={text('command')} />
      <div className="grid grid-cols-2 gap-3">
        <Field label={t('repo.policy')}>
          {(wire) => (
            <select {...wire} {...text('policy')}>
              <option value="poly">{t('repo.policyPoly')}</option>
              <option value="base">{t('repo.policyBase')}</option>
            </select>
          )}
        </Field>
        <Field label={t('repo.timeout')}>
          {(wire) => <input {...wire} {...text('timeout')} inputMode="numeric" />}
        </Field>
      </div>
    </div>
  )
}

type CommandProps = {
  draft: RepoDraft
  error: string | undefined
  text: { value: string; onChange(event: { target: { value: string } }): void }
}

function CommandField({ draft, error, text }: CommandProps) {
  const { t } = useTranslation()
  const words = splitWords(draft.command)
  const operators = words.ok ? shellWords(words.words) : []
  return (
    <div className="flex flex-col gap-1">
      <Field
        label={t('repo.ci')}
        help={t('repo.ciHelp')}
        error={words.ok ? error : t('repo.ciQuote')}
      >
        {(wire) => (
          <input
            {...wire}
            {...text}
            spellCheck={false}
            autoComplete="off"
            className={`${wire.className} font-mono`}
          />
        )}
      </Field>
      {operators.length === 0 ? null : (
        <p role="status" className="text-sm text-amber">
          {t('repo.ciOperator', { words: operators.join(' ') })}
        </p>
      )}
      {words.ok && words.words.length > 0 ? <Words words={words.words} /> : null}
    </div>
  )
}

function Words({ words }: { words: string[] }) {
  const { t } = useTranslation()
  return (
    <p className="flex flex-wrap items-center gap-1 text-sm text-t3">
      {t('repo.ciWords', { count: words.length, n: words.length })}
      {words.map((word, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: words repeat, their place is their name
        <code key={at} className="rounded-sm border border-line bg-inset px-1 font-mono">
          {word === '' ? '∅' : word}
        </code>
      ))}
    </p>
  )
}
