import { Plus, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { methods, type Rule } from '@/domain/policy'

type Props<T extends Rule> = {
  label: string
  help: string
  add: string
  error: string | undefined
  rules: T[]
  /** What else a rule says, beside what it names. */
  more?(rule: T, change: (rule: T) => void): ReactNode
  onAdd(): void
  onChange(rule: T): void
  onRemove(rule: T): void
}

/** Rules by method and path, or by a name the kind has no row for. */
export function Rules<T extends Rule>(props: Props<T>) {
  const { label, help, add, error, rules, more, onAdd, onChange, onRemove } = props
  const { t } = useTranslation()
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="text-sm font-medium text-t2">{label}</legend>
      <p className="text-sm text-t3">{help}</p>
      {rules.map((rule, at) => (
        <div key={rule.id} className="flex flex-wrap items-center gap-2">
          <Names
            rule={rule}
            wrong={error !== undefined}
            nth={`${label} ${at + 1}`}
            onChange={onChange}
          />
          {more?.(rule, onChange)}
          <Button
            look="ghost"
            size="icon"
            aria-label={t('policy.removeRule', { n: at + 1, list: label })}
            onClick={() => onRemove(rule)}
          >
            <X aria-hidden />
          </Button>
        </div>
      ))}
      {error === undefined ? null : (
        <p role="alert" className="text-sm text-red">
          {error}
        </p>
      )}
      <div>
        <Button size="small" onClick={onAdd}>
          <Plus aria-hidden />
          {add}
        </Button>
      </div>
    </fieldset>
  )
}

const control =
  'h-7 rounded-md border border-line-strong bg-inset px-2 font-mono text-sm aria-invalid:border-red'

type NamesProps<T extends Rule> = {
  rule: T
  nth: string
  wrong: boolean
  onChange(rule: T): void
}

/** A method with a path, or the name of an operation. */
function Names<T extends Rule>({ rule, nth, wrong, onChange }: NamesProps<T>) {
  const { t } = useTranslation()
  const named = rule.method === ''
  return (
    <>
      <select
        aria-label={`${nth}: ${t('policy.method')}`}
        className={control}
        value={named ? 'name' : rule.method}
        onChange={({ target }) =>
          onChange(
            target.value === 'name'
              ? { ...rule, method: '', path: '', operation: rule.path }
              : { ...rule, method: target.value, operation: '', path: rule.path || rule.operation },
          )
        }
      >
        {methods.map((method) => (
          <option key={method}>{method}</option>
        ))}
        <option value="name">{t('policy.byName')}</option>
      </select>
      <input
        aria-label={`${nth}: ${t(named ? 'policy.byName' : 'policy.path')}`}
        aria-invalid={wrong || undefined}
        // biome-ignore lint/a11y/noAutofocus: the person has just added this rule
        autoFocus={rule.operation === '' && rule.path === ''}
        spellCheck={false}
        autoComplete="off"
        placeholder={named ? 'github.graphql.addComment' : '/repos/*/*/issues/**'}
        value={named ? rule.operation : rule.path}
        onChange={({ target }) =>
          onChange(named ? { ...rule, operation: target.value } : { ...rule, path: target.value })
        }
        className={`${control} min-w-48 flex-1`}
      />
    </>
  )
}
