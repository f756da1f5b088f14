import { TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useIndexState } from '@/api/auditTrace'
import { count } from '@/domain/time'

/** Rows that a moment brings are no news; more than these are. */
const behind = 500

/** Says when what is shown cannot be all there is: damage, or an index that is made anew. */
export function IndexNote() {
  const { t, i18n } = useTranslation()
  const state = useIndexState().data
  if (state === undefined) return null
  if (state.problem !== '')
    return (
      <p role="alert" className="flex items-start gap-2 px-4 pb-1.5 text-red">
        <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
        <span className="min-w-0 break-words">{state.problem}</span>
      </p>
    )
  if (state.last - state.head < behind) return null
  const text = t('trace.indexing', {
    n: count(state.head, i18n.language),
    total: count(state.last, i18n.language),
  })
  return (
    <p role="status" className="flex items-center gap-2 px-4 pb-1.5 text-t2">
      <progress
        aria-label={text}
        max={state.last}
        value={state.head}
        className="h-1 w-24 accent-blue"
      />
      {text}
    </p>
  )
}
