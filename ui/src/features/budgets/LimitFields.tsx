import { useTranslation } from 'react-i18next'
import { Field } from '@/components/Field'
import type { LimitRead, LimitText } from '@/domain/budget'

type Props = {
  text: LimitText
  onChange(text: LimitText): void
  /** What cannot be read as an amount; null while nobody has tried to save. */
  wrong: LimitRead['wrong'] | null
  /** The form has just been opened by the person. */
  first?: boolean
  help?: string
}

export function LimitFields({ text, onChange, wrong, first = false, help }: Props) {
  const { t } = useTranslation()
  return (
    <div className="grid grid-cols-2 gap-3">
      <Field
        label={t('budget.tokensField')}
        help={help ?? t('budget.emptyHelp')}
        error={wrong?.tokens ? t('budget.wrongTokens') : undefined}
      >
        {(wire) => (
          <input
            {...wire}
            // biome-ignore lint/a11y/noAutofocus: the person has just asked for this field
            autoFocus={first}
            inputMode="decimal"
            autoComplete="off"
            placeholder={t('budget.noLimit')}
            value={text.tokens}
            onChange={(event) => onChange({ ...text, tokens: event.target.value })}
          />
        )}
      </Field>
      <Field
        label={t('budget.usdField')}
        help={help ?? t('budget.emptyHelp')}
        error={wrong?.usd ? t('budget.wrongUsd') : undefined}
      >
        {(wire) => (
          <input
            {...wire}
            inputMode="decimal"
            autoComplete="off"
            placeholder={t('budget.noLimit')}
            value={text.usd}
            onChange={(event) => onChange({ ...text, usd: event.target.value })}
          />
        )}
      </Field>
    </div>
  )
}
