import { useTranslation } from 'react-i18next'
import { Empty } from '@/components/State'
import { type AuditPlace, fromWire, stageOf } from '@/domain/auditPlace'
import { MessageDetail } from './MessageDetail'
import { ContextDetail, StageDetail } from './SpanDetail'
import type { Tree } from './useTree'

type Props = { place: AuditPlace; tree: Tree; go(change: Partial<AuditPlace>): void }

/** The right side: what is selected, as far down as it is. */
export function Detail({ place, tree, go }: Props) {
  const { t } = useTranslation()
  return (
    <aside
      aria-label={t('trace.detail')}
      className="flex w-[40%] max-w-[760px] min-w-[360px] flex-col bg-panel"
    >
      <Selected place={place} tree={tree} go={go} />
    </aside>
  )
}

function Selected({ place, tree, go }: Props) {
  const { t } = useTranslation()
  const stage = stageOf(place)
  if (stage !== null && place.message !== undefined)
    return (
      <MessageDetail
        key={`${place.stage} ${place.message}`}
        stage={stage}
        id={place.message}
        part={place.part ?? 0}
        seq={place.seq ?? 0}
        go={go}
      />
    )
  if (stage !== null) return <StageDetail loaded={tree.stageNamed(stage)} stage={stage} go={go} />
  const context = place.task === undefined ? undefined : tree.contextNamed(fromWire(place.task))
  if (context !== undefined) return <ContextDetail context={context} />
  return <Empty title={t('trace.nothing')} help={t('trace.nothingHelp')} />
}
