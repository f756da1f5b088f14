import { ArrowRight, LockOpen, ShieldCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { operationText } from '@/components/operationText'
import { Safe } from '@/components/Safe'
import { type Impact as ImpactOf, opens } from '@/domain/policy'

/** What the change does, before it is saved. */
export function Impact({ impacts }: { impacts: ImpactOf[] }) {
  const { t } = useTranslation()
  return (
    <div role="status" className="flex max-h-32 min-w-0 flex-1 flex-col gap-0.5 overflow-y-auto">
      {impacts.length === 0 ? <p className="text-t3">{t('policy.same')}</p> : null}
      {impacts.map((one) => {
        const Icon = opens(one.kind) ? LockOpen : ShieldCheck
        const what = [...one.operations.map((name) => operationText(t, name)), ...one.texts]
        return (
          <p key={one.kind} className="flex items-start gap-1.5 break-words">
            <Icon
              aria-hidden
              className={`mt-0.5 size-4 shrink-0 ${opens(one.kind) ? 'text-amber' : 'text-green'}`}
            />
            <span>
              <Safe text={t(`policy.impact.${one.kind}`, { what: what.join(t('policy.comma')) })} />
            </span>
          </p>
        )
      })}
      {impacts.length === 0 ? null : (
        <p className="flex items-center gap-1.5 text-sm text-t3">
          <ArrowRight aria-hidden className="size-3.5 shrink-0" />
          {t('policy.when')}
        </p>
      )}
    </div>
  )
}
