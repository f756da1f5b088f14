import { useTranslation } from 'react-i18next'
import { Chip } from '@/components/Chip'
import { operationText } from '@/components/operationText'
import { operationWord } from '@/domain/operation'
import {
  type Effect,
  effectOf,
  effects,
  type Operation,
  type Policy,
  type Shipped,
  withEffect,
} from '@/domain/policy'
import { EffectRadio } from './EffectRadio'

type Props = { shipped: Shipped; policy: Policy; onChange(policy: Policy): void }

const tones = { permit: 'green', warn: 'amber', ask: 'blue', refuse: 'red' } as const

/** Every operation the kind has a name for, with what happens to it now. */
export function Operations({ shipped, policy, onChange }: Props) {
  const { t } = useTranslation()
  return (
    <ul
      aria-label={t('policy.operations')}
      className="divide-y divide-line rounded-md border border-line bg-card"
    >
      {shipped.operations.map((operation) => (
        <Row
          key={operation.name}
          operation={operation}
          effect={effectOf(operation, policy)}
          onChange={(effect) => onChange(withEffect(policy, operation, effect))}
        />
      ))}
    </ul>
  )
}

type RowProps = { operation: Operation; effect: Effect; onChange(effect: Effect): void }

function Row({ operation, effect, onChange }: RowProps) {
  const { t } = useTranslation()
  const start: Effect = operation.permitted ? 'permit' : 'refuse'
  const text = operationText(t, operation.name)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-1.5">
      <div className="min-w-0 flex-1 basis-72">
        <p className="flex flex-wrap items-center gap-x-2">
          {text}
          {effect === start ? null : (
            <Chip tone="violet" why={t('policy.changedWhy', { effect: t(`effect.${start}`) })}>
              {t('policy.changed')}
            </Chip>
          )}
        </p>
        <p className="truncate font-mono text-xs text-t3" title={operation.routes.join('\n')}>
          {[operationWord(operation.name) === null ? '' : operation.name, ...operation.routes]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      <EffectRadio
        legend={text}
        value={effect}
        options={effects.map((value) => ({
          value,
          label: t(`effect.${value}`),
          tone: tones[value],
        }))}
        onChange={onChange}
      />
    </li>
  )
}
