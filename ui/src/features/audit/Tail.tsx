import { ArrowUp, Pause } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useGrow, useIndexState } from '@/api/auditTrace'
import { Button } from '@/components/Button'
import { count } from '@/domain/time'

export type Tail = { fresh: number; load(): void }

/**
 * How many rows came since what is shown was read. While live, they are read
 * as they come; whoever scrolled away is not pulled back, but told.
 */
export function useTail(live: boolean, away: boolean): Tail {
  const head = useIndexState().data?.head
  const grow = useGrow()
  const [seen, setSeen] = useState<number | null>(null)
  const latest = useRef(grow)
  latest.current = grow
  const known = head ?? 0
  const fresh = head === undefined || seen === null ? 0 : Math.max(0, head - seen)
  const follow = live && !away && fresh > 0
  useEffect(() => {
    if (head !== undefined) setSeen((old) => old ?? head)
  }, [head])
  useEffect(() => {
    if (!follow) return
    setSeen(known)
    void latest.current()
  }, [follow, known])
  return {
    fresh,
    load: () => {
      setSeen(known)
      void grow()
    },
  }
}

/** A pill over the list; nothing while there is nothing new. */
export function NewRows({ tail, paused }: { tail: Tail; paused: boolean }) {
  const { t, i18n } = useTranslation()
  if (tail.fresh === 0) return null
  const Icon = paused ? Pause : ArrowUp
  return (
    <Button
      size="small"
      look="solid"
      className="absolute top-9 left-1/2 z-10 -translate-x-1/2"
      title={paused ? t('trace.paused') : undefined}
      onClick={tail.load}
    >
      <Icon aria-hidden />
      {t('audit.newer', { count: tail.fresh, n: count(tail.fresh, i18n.language) })}
    </Button>
  )
}
