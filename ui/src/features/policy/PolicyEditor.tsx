import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type ProviderPolicy, useSetPolicy } from '@/api/policies'
import { Problem } from '@/api/problem'
import { Button } from '@/components/Button'
import { ErrorNote } from '@/components/State'
import { fieldOf, impactOf, lines } from '@/domain/policy'
import { useToasts } from '@/store/toasts'
import { type Draft, draftOf } from './draft'
import { Impact } from './Impact'
import { Nevers } from './Nevers'
import { Operations } from './Operations'
import { OtherRules } from './OtherRules'
import { Places } from './Places'

type Props = { provider: string; saved: ProviderPolicy }

/** Rules of one provider, and at the foot what a change of them would do. */
export function PolicyEditor({ provider, saved }: Props) {
  const { t } = useTranslation()
  const { shipped } = saved
  // Null: as it is saved, also when somebody else saves.
  const [edited, setEdited] = useState<Draft | null>(null)
  const draft = edited ?? draftOf(saved.policy)
  const set = useSetPolicy(provider)
  const toast = useToasts((state) => state.show)
  const policy = {
    writes: draft.writes,
    stops: draft.stops,
    paths: lines(draft.paths),
    branchPrefixes: lines(draft.branchPrefixes),
    protectedRefs: lines(draft.protectedRefs),
  }
  const impacts = impactOf(saved.policy, policy, shipped)
  const field = set.error instanceof Problem ? fieldOf(set.error.message, policy) : null
  const wrong = field === null ? null : { field, message: set.error?.message ?? '' }
  const change = (next: Partial<Draft>) => {
    set.reset()
    setEdited({ ...draft, ...next })
  }
  const save = () =>
    set.mutate(policy, {
      onSuccess: () => {
        setEdited(null)
        toast(t('policy.saved', { name: provider }))
      },
    })
  return (
    <form
      noValidate
      className="flex flex-col gap-6"
      onSubmit={(event) => {
        event.preventDefault()
        if (impacts.length > 0) save()
      }}
    >
      <section className="flex flex-col gap-2">
        <h3 className="font-semibold">{t('policy.operations')}</h3>
        <p className="text-t3">{t('policy.operationsHelp')}</p>
        <Operations
          shipped={shipped}
          policy={policy}
          onChange={({ writes, stops }) => change({ writes, stops })}
        />
        {policy.paths.length > 0 || draft.stops.some((rule) => rule.path !== '') ? (
          <p className="text-sm text-t3">{t('policy.pathsNarrow')}</p>
        ) : null}
      </section>
      <Nevers never={shipped.never} />
      <OtherRules
        shipped={shipped}
        draft={draft}
        wrong={wrong}
        onChange={(writes, stops) => change({ writes, stops })}
      />
      <Places shipped={shipped} draft={draft} wrong={wrong} onChange={change} />
      {set.error === null || wrong !== null ? null : <ErrorNote error={set.error} />}
      <div className="sticky bottom-0 -mx-6 -mb-6 flex items-end gap-3 border-t border-line bg-panel px-6 py-3">
        <Impact impacts={impacts} />
        {impacts.length === 0 ? null : (
          <Button
            onClick={() => {
              set.reset()
              setEdited(null)
            }}
          >
            {t('common.discard')}
          </Button>
        )}
        <Button type="submit" look="solid" changes disabled={impacts.length === 0 || set.isPending}>
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}
