import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Measured } from '@/components/Mark'
import { fillOf, type Level } from '@/domain/budget'
import { count } from '@/domain/time'
import { usd } from '@/domain/usd'

type Unit = 'tokens' | 'usd'

type Props = {
  unit: Unit
  /** Whose budget it is, for a reader who does not see the heading. */
  of: string
  limit: number | null
  spent: number
  reserved: number
}

const colours: Record<Level, string> = {
  open: 'bg-transparent',
  ok: 'bg-blue',
  near: 'bg-amber',
  over: 'bg-red',
}

/** One kind of one budget: a bar of the limit, and the figures it stands for. */
export function Meter({ unit, of, limit, spent, reserved }: Props) {
  const { t, i18n } = useTranslation()
  const write = (value: number) =>
    unit === 'usd' ? usd(value, i18n.language) : count(value, i18n.language)
  const fill = fillOf(limit, spent, reserved)
  const figures = [
    t('budget.spent', { n: write(spent) }),
    ...(reserved > 0 ? [t('budget.reserved', { n: write(reserved) })] : []),
  ].join(' + ')
  const bound =
    limit === null
      ? t('budget.noLimit')
      : limit === 0
        ? t('budget.nothing')
        : t('budget.of', { n: write(limit) })
  return (
    <div className="flex flex-col gap-1">
      <div className="flex flex-wrap items-center gap-x-2 text-sm">
        <span className="w-14 text-t3">{t(`budget.${unit}`)}</span>
        <Measured>{figures}</Measured>
        <span className={cn(fill.level === 'over' ? 'text-red' : 'text-t3')}>{bound}</span>
        <LevelWord level={fill.level} nothing={limit === 0} />
      </div>
      {limit === null ? null : (
        <div
          role="meter"
          aria-label={`${of}: ${t(`budget.${unit}`)}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(fill.spent + fill.reserved)}
          aria-valuetext={`${figures} ${bound}`}
          className="flex h-1.5 overflow-hidden rounded-sm bg-inset"
        >
          <span className={colours[fill.level]} style={{ width: `${fill.spent}%` }} />
          <span
            className={cn(colours[fill.level], 'opacity-50')}
            style={{ width: `${fill.reserved}%` }}
          />
        </div>
      )}
    </div>
  )
}

function LevelWord({ level, nothing }: { level: Level; nothing: boolean }) {
  const { t } = useTranslation()
  if (nothing || (level !== 'near' && level !== 'over')) return null
  return (
    <span className={cn('ml-auto font-medium', level === 'over' ? 'text-red' : 'text-amber')}>
      {t(`budget.${level}`)}
    </span>
  )
}
