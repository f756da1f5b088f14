import { useTranslation } from 'react-i18next'
import { Field } from '@/components/Field'
import type { Shipped } from '@/domain/policy'
import type { Draft, Wrong } from './draft'

type Props = { shipped: Shipped; draft: Draft; wrong: Wrong; onChange(next: Partial<Draft>): void }

/** Where: paths that may be requested, branches that may be written. */
export function Places({ shipped, draft, wrong, onChange }: Props) {
  const { t } = useTranslation()
  const repositories = shipped.branchPrefixes.length > 0
  const area = (key: 'paths' | 'branchPrefixes' | 'protectedRefs', hint: string) => ({
    rows: 3,
    spellCheck: false,
    value: draft[key],
    placeholder: hint,
    onChange: (event: { target: { value: string } }) => onChange({ [key]: event.target.value }),
  })
  const error = (key: 'paths' | 'branchPrefixes' | 'protectedRefs') =>
    wrong?.field === key ? wrong.message : undefined
  return (
    <section className="flex flex-col gap-3">
      <h3 className="font-semibold">{t('policy.places')}</h3>
      <Field label={t('policy.paths')} help={t('policy.pathsHelp')} error={error('paths')}>
        {(wire) => <textarea {...wire} {...area('paths', t('policy.everyPath'))} />}
      </Field>
      {repositories ? (
        <div className="grid grid-cols-2 gap-3">
          <Field
            label={t('policy.prefixes')}
            help={t('policy.prefixesHelp')}
            error={error('branchPrefixes')}
          >
            {(wire) => (
              <textarea {...wire} {...area('branchPrefixes', shipped.branchPrefixes.join('\n'))} />
            )}
          </Field>
          <Field
            label={t('policy.refs')}
            help={t('policy.refsHelp', { refs: shipped.protectedRefs.join(', ') })}
            error={error('protectedRefs')}
          >
            {(wire) => <textarea {...wire} {...area('protectedRefs', 'release/1.0')} />}
          </Field>
        </div>
      ) : null}
    </section>
  )
}
