import { useTranslation } from 'react-i18next'
import { Field } from '@/components/Field'
import { grants } from '@/domain/program'
import { Choices } from './Choices'

type Props = {
  chosen: string[]
  more: string
  onChange(chosen: string[], more: string): void
}

/** What the provider may do on its own side, each in words. */
export function GrantFields({ chosen, more, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <>
      <Choices
        rows
        legend={t('program.grants')}
        help={t('program.grantsHelp')}
        error={undefined}
        options={grants.map((value) => ({ value, label: value, note: t(`grant.${value}`) }))}
        chosen={chosen}
        onChange={(next) => onChange(next, more)}
      />
      <Field label={t('program.more')} help={t('program.moreHelp')}>
        {(wire) => (
          <textarea
            {...wire}
            rows={2}
            spellCheck={false}
            placeholder="beta:context-management-2025-06-27"
            value={more}
            onChange={(event) => onChange(chosen, event.target.value)}
          />
        )}
      </Field>
    </>
  )
}
