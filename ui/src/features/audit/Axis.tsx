import { type RefObject, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { duration } from '@/domain/auditMetrics'
import { ticks } from '@/domain/auditWaterfall'
import { lane } from './CallLane'

/** Pixels that a mark and its label take. */
const room = 56

/** Time from the first call on, without the gaps. */
export function Axis({ ms }: { ms: number }) {
  const { i18n } = useTranslation()
  const ref = useRef<HTMLSpanElement>(null)
  const marks = ticks(ms, useWidth(ref) / room)
  const [step = 0] = marks
  return (
    <div aria-hidden className={cn(lane, 'border-b border-line text-xs text-t3')}>
      <span />
      <span ref={ref} className="flex h-5 overflow-hidden">
        {marks.map((at) => (
          <span
            key={at}
            // A label has the room before its mark to itself: no two can overlap.
            className="shrink-0 truncate border-r border-line pr-1 text-right"
            style={{ width: `${(step / ms) * 100}%` }}
          >
            {duration(at * 1000, i18n.language)}
          </span>
        ))}
      </span>
      <span />
    </div>
  )
}

/** How wide it is on the screen; 0 before that is known. */
function useWidth(ref: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const box = ref.current
    if (box === null) return
    const resize = new ResizeObserver(() => setWidth(box.clientWidth))
    resize.observe(box)
    return () => resize.disconnect()
  }, [ref])
  return width
}
