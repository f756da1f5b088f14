import { useTranslation } from 'react-i18next'
import { useProviders } from '@/api/providers'
import { Field } from '@/components/Field'

/** A row is for every provider of a kind, or for one of that name. */
export type Where = { kind: 'kind' | 'provider'; name: string }

const kinds = ['anthropic', 'openai', 'gemini'] as const

type Props = {
  where: Where
  onWhere(where: Where): void
  model: string
  onModel(model: string): void
  upTo: string
  onUpTo(upTo: string): void
  wrong: { model: boolean; upTo: boolean }
}

export function PriceKeyFields(props: Props) {
  const { t } = useTranslation()
  const { where, wrong } = props
  const providers = (useProviders().data ?? []).filter((one) => kinds.some((k) => k === one.kind))
  return (
    <div className="grid grid-cols-3 gap-3">
      <Field label={t('price.where')}>
        {(wire) => (
          <select
            {...wire}
            value={`${where.kind} ${where.name}`}
            onChange={(event) => {
              const [kind, name = ''] = event.target.value.split(' ')
              props.onWhere({ kind: kind === 'provider' ? 'provider' : 'kind', name })
            }}
          >
            {kinds.map((kind) => (
              <option key={kind} value={`kind ${kind}`}>
                {t('price.kind', { kind })}
              </option>
            ))}
            {providers.map(({ name }) => (
              <option key={name} value={`provider ${name}`}>
                {t('price.only', { name })}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field
        label={t('price.model')}
        help={t('price.modelHelp')}
        error={wrong.model ? t('common.required') : undefined}
      >
        {(wire) => (
          <input
            {...wire}
            spellCheck={false}
            autoComplete="off"
            value={props.model}
            onChange={(event) => props.onModel(event.target.value)}
          />
        )}
      </Field>
      <Field
        label={t('price.upTo')}
        help={t('price.upToHelp')}
        error={wrong.upTo ? t('budget.wrongTokens') : undefined}
      >
        {(wire) => (
          <input
            {...wire}
            inputMode="decimal"
            autoComplete="off"
            placeholder={t('price.any')}
            value={props.upTo}
            onChange={(event) => props.onUpTo(event.target.value)}
          />
        )}
      </Field>
    </div>
  )
}
