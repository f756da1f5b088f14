import { GitMerge, Lock } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useDiff } from '@/api/diff'
import { useApproveAndMerge } from '@/api/tasks'
import { Button } from '@/components/Button'
import { ErrorNote } from '@/components/State'
import { approveState } from '@/domain/approve'
import { type Review, shortId, type Task } from '@/domain/model'
import { useToasts } from '@/store/toasts'
import { useViewed, viewedKey } from '@/store/viewed'
import { useWindow } from '@/store/window'
import { Acks } from './Acks'
import { Reasons } from './Reasons'

const blank = { about: '', acked: new Set<string>() }

export function Decision({ task, review }: { task: Task; review: Review }) {
  const { t } = useTranslation()
  // Acknowledgements belong to one result; what went wrong stays to be read.
  const { head, targetOid, resultTree } = review.preview
  const about = `${head}${targetOid}${resultTree}`
  const [ticks, setTicks] = useState<{ about: string; acked: ReadonlySet<string> }>(blank)
  const acked = ticks.about === about ? ticks.acked : blank.acked
  const land = useApproveAndMerge(task.id)
  const show = useToasts((state) => state.show)
  const unviewed = useUnviewed(task)
  const approved = review.approved.state === 'holds'
  const online = useWindow((window) => window.online)
  const seen = approved ? { ...review, acks: [] } : review
  const state = approveState(online ? seen : lost(seen), acked)
  // The target moves with the merge, and this decision with it: follow the
  // promise. An error stays in the mutation and is shown below.
  const go = () =>
    land.mutateAsync({ review, acks: review.acks.filter((ack) => acked.has(ack)), unviewed }).then(
      ({ commit, seq, note }) =>
        show(
          `${t('review.merged', { target: review.preview.target })} ${t('review.mergedAs', { commit: shortId(commit), seq })}`,
          'plain',
          note,
        ),
      () => undefined,
    )
  const label = approved ? t('review.mergeOnly') : t('review.button')
  return (
    <section className="flex flex-col gap-3">
      {approved ? null : (
        <Acks
          acks={review.acks}
          acked={acked}
          onChange={(next) => setTicks({ about, acked: next })}
        />
      )}
      {unviewed.length === 0 || approved ? null : (
        <p className="text-sm text-amber">
          {t('review.unviewed', { count: unviewed.length, n: unviewed.length })}
        </p>
      )}
      {state.enabled ? null : <Reasons id={`why-${task.id}`} reasons={state.reasons} />}
      {land.error === null ? null : <ErrorNote error={land.error} />}
      <div>
        <Button
          look="solid"
          disabled={!state.enabled || land.isPending}
          aria-describedby={state.enabled ? undefined : `why-${task.id}`}
          onClick={() => void go()}
        >
          {state.enabled ? <GitMerge aria-hidden /> : <Lock aria-hidden />}
          {land.isPending ? t('review.working') : label}
        </Button>
      </div>
    </section>
  )
}

/** Nobody is there to approve at; the reason stands before all others. */
function lost(review: Review): Review {
  return { ...review, blockers: [{ code: 'offline', message: '' }, ...review.blockers] }
}

/** Files of the diff nobody ticked; the statement names them. */
function useUnviewed(task: Task): string[] {
  const files = useDiff(task).data?.files ?? []
  const ticks = useViewed((state) => state.ticks)
  return files.filter((file) => !ticks[viewedKey(file)]).map((file) => file.path)
}
