import { useTranslation } from 'react-i18next'
import { ruleText } from '@/domain/operation'
import { isOther, nextId, type Rule, type Shipped, type StopRule, stops } from '@/domain/policy'
import type { Draft, Wrong } from './draft'
import { EffectRadio } from './EffectRadio'
import { Rules } from './Rules'

type Props = {
  shipped: Shipped
  draft: Draft
  wrong: Wrong
  onChange(writes: Rule[], stops: StopRule[]): void
}

const tones = { block: 'red', ask: 'blue', warn: 'amber' } as const

/** Rules that name a method and a path: more is permitted, or something is stopped. */
export function OtherRules({ shipped, draft, wrong, onChange }: Props) {
  const { t } = useTranslation()
  const { writes } = draft
  const blank = { operation: '', method: 'POST', path: '' }
  const swap = <T extends Rule>(list: T[], rule: T) =>
    list.map((one) => (one.id === rule.id ? rule : one))
  const drop = <T extends Rule>(list: T[], rule: T) => list.filter((one) => one.id !== rule.id)
  return (
    <section className="flex flex-col gap-4">
      <h3 className="font-semibold">{t('policy.byPath')}</h3>
      <Rules
        label={t('policy.writes')}
        help={t('policy.writesHelp')}
        add={t('policy.addWrite')}
        error={wrong?.field === 'writes' ? wrong.message : undefined}
        rules={writes.filter((rule) => isOther(rule, shipped))}
        onAdd={() => onChange([...writes, { ...blank, id: nextId(draft) }], draft.stops)}
        onChange={(rule) => onChange(swap(writes, rule), draft.stops)}
        onRemove={(rule) => onChange(drop(writes, rule), draft.stops)}
      />
      <Rules
        label={t('policy.stops')}
        help={t('policy.stopsHelp')}
        add={t('policy.addStop')}
        error={wrong?.field === 'stops' ? wrong.message : undefined}
        rules={draft.stops.filter((rule) => isOther(rule, shipped))}
        more={(rule, change) => (
          <EffectRadio
            legend={`${t('policy.stops')}: ${ruleText(rule)}`}
            value={rule.stop}
            options={stops.map((value) => ({
              value,
              label: t(`stop.${value}`),
              tone: tones[value],
            }))}
            onChange={(stop) => change({ ...rule, stop })}
          />
        )}
        onAdd={() =>
          onChange(writes, [...draft.stops, { ...blank, id: nextId(draft), stop: 'ask' }])
        }
        onChange={(rule) => onChange(writes, swap(draft.stops, rule))}
        onRemove={(rule) => onChange(writes, drop(draft.stops, rule))}
      />
    </section>
  )
}
