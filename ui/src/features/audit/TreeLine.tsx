import { ChevronDown, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { errorText } from '@/components/errorText'
import { Safe } from '@/components/Safe'
import type { Span } from '@/domain/auditCall'
import { messageTitle, partTitle, speaker } from '@/domain/auditMessage'
import type { TreeRow } from '@/domain/auditTree'
import { plain } from '@/domain/bidi'
import { compact } from '@/domain/time'
import { PartIcon, SpeakerIcon } from './icons'
import { useNames } from './useNames'

type Props = {
  id: string
  row: TreeRow
  active: boolean
  selected: boolean
  onChoose(): void
  onToggle(open: boolean): void
}

const indent = ['', 'pl-1', 'pl-5', 'pl-9', 'pl-14']

export function TreeLine({ id, row, active, selected, onChoose, onToggle }: Props) {
  const open = 'open' in row ? row.open : undefined
  const Icon = open === true ? ChevronDown : ChevronRight
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the tree's, which has the focus
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names this row
    <div
      id={id}
      role="treeitem"
      aria-level={row.level}
      aria-setsize={row.size}
      aria-posinset={row.pos}
      aria-expanded={open}
      aria-selected={selected}
      data-kind={row.kind}
      onClick={onChoose}
      className={cn(
        'flex h-full cursor-pointer items-center gap-1.5 pr-2 text-sm hover:bg-hover',
        indent[row.level],
        selected && 'bg-hover shadow-[inset_2px_0] shadow-blue',
        active &&
          'outline-blue group-focus-visible:outline-2 group-focus-visible:-outline-offset-2',
      )}
    >
      {open === undefined ? null : (
        <span
          aria-hidden
          onClick={(event) => {
            event.stopPropagation()
            onToggle(!open)
          }}
          className="flex size-4 shrink-0 items-center justify-center rounded-sm text-t3 hover:text-t1"
        >
          <Icon className="size-3" />
        </span>
      )}
      <Words row={row} />
    </div>
  )
}

function Words({ row }: { row: TreeRow }) {
  const { t } = useTranslation()
  const names = useNames()
  switch (row.kind) {
    case 'context': {
      const name = names.task(row.context.task)
      return (
        <>
          <Name text={name ?? t('trace.noTask')} strong />
          <Sums span={row.context} />
        </>
      )
    }
    case 'stage':
      return (
        <>
          <Name text={names.stage(row.stage)} />
          <Sums span={row.stage} />
        </>
      )
    case 'message': {
      const who = speaker(row.message)
      return (
        <>
          <SpeakerIcon who={who} />
          <span className={cn('shrink-0 text-xs', who === 'refusal' ? 'text-red' : 'text-t3')}>
            {t(`trace.speaker.${who}`)}
          </span>
          <Name text={messageTitle(row.message)} />
        </>
      )
    }
    case 'part':
      return (
        <>
          <PartIcon kind={row.part.kind} failed={row.part.error} />
          <span className="shrink-0 text-xs text-t3">{t(`trace.part.${row.part.kind}`)}</span>
          <Name text={partTitle(row.part)} mono />
        </>
      )
    case 'error':
      return (
        <span className="truncate pl-1 text-red">
          {errorText(t, row.error)} {t('common.retry')}
        </span>
      )
    case 'note':
      return <Quiet>{row.note}</Quiet>
    default:
      return <Quiet>{t(`trace.${row.kind}`)}</Quiet>
  }
}

function Quiet({ children }: { children: ReactNode }) {
  return <span className="truncate pl-1 text-t3 italic">{children}</span>
}

function Name({ text, strong, mono }: { text: string; strong?: boolean; mono?: boolean }) {
  return (
    <span
      title={plain(text)}
      className={cn(
        'min-w-0 flex-1 truncate',
        strong ? 'font-medium text-t1' : 'text-t2',
        mono && 'font-mono text-xs',
      )}
    >
      <Safe text={text} />
    </span>
  )
}

/** What went wrong first, then how much there is. */
function Sums({ span }: { span: Span }) {
  const { t, i18n } = useTranslation()
  const short = (n: number) => compact(n, i18n.language)
  return (
    <span className="flex shrink-0 items-center gap-1.5 text-xs text-t3">
      {span.refused > 0 ? (
        <span className="text-red">
          {t('trace.nRefused', { count: span.refused, n: short(span.refused) })}
        </span>
      ) : null}
      {span.failed > 0 ? (
        <span className="text-red">
          {t('trace.nFailed', { count: span.failed, n: short(span.failed) })}
        </span>
      ) : null}
      {span.open > 0 ? (
        <span className="text-blue">
          {t('trace.nOpen', { count: span.open, n: short(span.open) })}
        </span>
      ) : null}
      <span>{t('trace.nCalls', { count: span.calls, n: short(span.calls) })}</span>
    </span>
  )
}
