import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Scripted } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { type AuditRow, headline, isDenied } from '@/domain/audit'
import { clock, count } from '@/domain/time'
import { KindChip } from './KindChip'

type Props = { row: AuditRow; active: boolean; onSelect(seq: number): void }

export function AuditLine({ row, active, onSelect }: Props) {
  const { i18n } = useTranslation()
  const denied = isDenied(row)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list box owns the keys of its options
    // biome-ignore lint/a11y/useFocusableInteractive: the list box keeps the focus and names the active option
    <div
      id={`row-${row.seq}`}
      role="option"
      aria-selected={active}
      onClick={() => onSelect(row.seq)}
      className={cn(
        'flex h-full items-center gap-3 border-b border-line px-4 text-sm hover:bg-hover',
        active ? 'bg-hover shadow-[inset_2px_0] shadow-blue' : denied && 'bg-red-soft',
      )}
    >
      <span className="w-14 shrink-0 text-right font-mono text-t3">{row.seq}</span>
      <span className="hidden w-20 shrink-0 text-t3 @2xl:block">
        {clock(row.time, i18n.language)}
      </span>
      <span className="w-24 shrink-0">
        <KindChip kind={row.kind} />
      </span>
      <span className="min-w-40 flex-1 truncate font-mono">
        <Safe text={headline(row)} />
      </span>
      {denied ? (
        <span className="max-w-72 min-w-0 truncate text-red">
          {row.gate} · {row.reason}
        </span>
      ) : (
        <span className="max-w-40 truncate text-t3">{row.result}</span>
      )}
      {row.scripted ? (
        <span className="hidden shrink-0 @xl:block">
          <Scripted />
        </span>
      ) : null}
      <span className="hidden w-16 shrink-0 text-right text-t3 @3xl:block">
        {row.input + row.output > 0 ? count(row.input + row.output, i18n.language) : ''}
      </span>
      <span className="w-10 shrink-0 text-right font-mono text-t3">{row.status || ''}</span>
      <span className="hidden w-32 shrink-0 truncate text-t3 @5xl:block">{row.task}</span>
    </div>
  )
}
