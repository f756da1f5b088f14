import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import { causeKey, type HostCause, hostCause, type Kept, splitKept } from '@/domain/cause'
import type { Task } from '@/domain/model'
import { operationText } from './operationText'
import { Safe } from './Safe'

/** Why a task stands where it stands. Text of the host is shown as text. */
export function Cause({ task }: { task: Task }) {
  const { t } = useTranslation()
  const key = causeKey(task)
  if (key !== undefined) return <Safe text={t(`cause.${key}`, { target: task.target })} />
  const known = hostCause(task.cause)
  if (known === null) return <Safe text={task.cause} />
  const { kept } = splitKept(task.cause)
  return <Safe text={`${hostText(t, known)}${kept === null ? '' : keptText(t, kept)}`} />
}

function keptText(t: TFunction, kept: Kept): string {
  return kept.kind === 'nothing' ? t('cause.keptNothing') : t('cause.keptWork', { head: kept.head })
}

function hostText(t: TFunction, cause: HostCause): string {
  switch (cause.kind) {
    case 'ask': {
      const what = cause.operations.map((name) => operationText(t, name)).join(t('cause.comma'))
      const one = t('cause.ask', { what, upstream: cause.upstream })
      return cause.more === 0 ? one : `${one} ${t('rail.more', { n: cause.more })}`
    }
    case 'budget':
      return t(`cause.budget.${cause.of}`)
    case 'providerBudget':
      return t('cause.budget.provider', { name: cause.provider })
    case 'noPrice':
      return t('cause.noPrice', { model: cause.model })
    case 'refused':
    case 'unanswered':
      return t(`cause.${cause.kind}`, {
        what: operationText(t, cause.operation),
        upstream: cause.upstream,
      })
    case 'stopped':
      return t('cause.stopped')
  }
}
