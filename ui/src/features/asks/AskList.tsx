import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAnswerAsk } from '@/api/asks'
import { Problem } from '@/api/problem'
import { operationText } from '@/components/operationText'
import { type Ask, type Outcome, shownAsks } from '@/domain/ask'
import { useToasts } from '@/store/toasts'
import { AskPanel } from './AskPanel'

type Props = { asks: Ask[] /** Whether to name the task as well. */; linked: boolean }

/** Requests that wait, and what became of those that were answered here. */
export function AskList({ asks, linked }: Props) {
  const { t } = useTranslation()
  const [answered, setAnswered] = useState<{ ask: Ask; outcome: Outcome }[]>([])
  const toast = useToasts((state) => state.show)
  const answer = useAnswerAsk()
  const close = (ask: Ask, outcome: Outcome) =>
    setAnswered((list) => [...list.filter((one) => one.ask.id !== ask.id), { ask, outcome }])
  const send = (ask: Ask, allow: boolean) =>
    answer.mutate(
      { ask, allow },
      {
        onSuccess: ({ seq }) => {
          close(ask, { kind: 'answered', allow, seq })
          const what = ask.operations.map((name) => operationText(t, name)).join(t('cause.comma'))
          toast(t(allow ? 'ask.allowedToast' : 'ask.refusedToast', { what }))
        },
        onError: (error) => {
          // Somebody or the clock was first: there is nothing to answer any more.
          if (error instanceof Problem && (error.status === 409 || error.status === 404)) {
            close(ask, { kind: 'over', message: error.message })
          }
        },
      },
    )
  const failed = answer.error !== null && answer.variables !== undefined
  return shownAsks(asks, answered).map(({ ask, outcome }) => (
    <AskPanel
      key={ask.id}
      ask={ask}
      outcome={outcome}
      linked={linked}
      busy={answer.isPending && answer.variables.ask.id === ask.id}
      error={failed && answer.variables.ask.id === ask.id ? answer.error : null}
      onAnswer={(allow) => send(ask, allow)}
      onClose={() => setAnswered((list) => list.filter((one) => one.ask.id !== ask.id))}
    />
  ))
}
