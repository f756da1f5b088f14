import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { type CallKind, callKind, callTitle } from '@/domain/auditCall'
import { duration } from '@/domain/auditMetrics'
import type { Bar, Gap } from '@/domain/auditWaterfall'
import { plain } from '@/domain/bidi'
import { count } from '@/domain/time'

/** The colour of a kind; its word stands before it. */
const colours: Record<CallKind, { word: string; bar: string }> = {
  model: { word: 'text-blue', bar: 'bg-blue' },
  count: { word: 'text-t2', bar: 'bg-t3' },
  read: { word: 'text-cyan', bar: 'bg-cyan' },
  write: { word: 'text-violet', bar: 'bg-violet' },
  other: { word: 'text-t2', bar: 'bg-t3' },
  failed: { word: 'text-red', bar: 'bg-red' },
  refused: { word: 'text-red', bar: 'border-2 border-red' },
}

/** Word and title, bar, time. */
export const lane = 'grid grid-cols-[minmax(140px,38%)_1fr_64px] gap-2'

type Props = { id: string; bar: Bar; active: boolean; onSelect(): void }

export function CallLane({ id, bar, active, onSelect }: Props) {
  const { t, i18n } = useTranslation()
  const { call } = bar
  const kind = callKind(call)
  const open = call.state === 'open'
  const title = callTitle(call)
  const why = kind === 'refused' ? `${call.gate} · ${call.reason}` : ''
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list box owns the keys of its options
    // biome-ignore lint/a11y/useFocusableInteractive: the list box keeps the focus and names the active option
    <div
      id={id}
      role="option"
      aria-selected={active}
      onClick={onSelect}
      className={cn(
        lane,
        'h-full items-center text-sm hover:bg-hover',
        active && 'bg-hover shadow-[inset_2px_0] shadow-blue',
      )}
    >
      <span className="flex min-w-0 items-center gap-1.5 pl-3">
        <span className={cn('w-14 shrink-0 truncate text-xs', colours[kind].word)}>
          {t(`trace.call.${kind}`)}
        </span>
        <span className="min-w-0 truncate text-t2" title={plain(why || title)}>
          <Safe text={why || title} />
        </span>
        {call.count > 1 ? (
          <span className="shrink-0 text-xs text-t3">×{count(call.count, i18n.language)}</span>
        ) : null}
      </span>
      <span aria-hidden className="relative h-full">
        <span
          className={cn(
            'absolute inset-y-[8px] min-w-[3px] rounded-xs',
            open ? 'border border-dashed border-blue' : colours[kind].bar,
          )}
          style={{ left: `min(${bar.left * 100}%, 100% - 3px)`, width: `${bar.width * 100}%` }}
        />
      </span>
      <span className="pr-3 text-right text-xs text-t3">
        {open ? t('trace.openCall') : duration(call.durationUs, i18n.language)}
      </span>
    </div>
  )
}

/** Time without any call: what the agent, or a person, did then is not in the log. */
export function GapLane({ gap }: { gap: Gap }) {
  const { t, i18n } = useTranslation()
  return (
    <div role="presentation" className="flex h-full items-center gap-2 px-3 text-xs text-t3 italic">
      <span aria-hidden className="h-px flex-1 border-t border-dashed border-line-strong" />
      {t('trace.gap', { time: duration(gap.ms * 1000, i18n.language) })}
      <span aria-hidden className="h-px flex-1 border-t border-dashed border-line-strong" />
    </div>
  )
}
