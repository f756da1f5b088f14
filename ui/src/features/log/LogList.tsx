import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import type { Entry } from '@/domain/log'
import { LogEntry } from './LogEntry'

/** The tail follows the newest line until the person scrolls away from it. */
export function LogList({ list, live }: { list: Entry[]; live: boolean }) {
  const { t } = useTranslation()
  const ref = useRef<HTMLDivElement>(null)
  const [following, setFollowing] = useState(live)
  const rows = useVirtualizer({
    count: list.length,
    getScrollElement: () => ref.current,
    estimateSize: () => 48,
    getItemKey: (index) => list[index]?.key ?? index,
    overscan: 10,
  })
  const last = list.length - 1
  const size = rows.getTotalSize()
  // biome-ignore lint/correctness/useExhaustiveDependencies: a growing list is what is followed
  useEffect(() => {
    if (following) ref.current?.scrollTo({ top: ref.current.scrollHeight })
  }, [following, last, size])
  const onScroll = () => {
    const box = ref.current
    if (box === null) return
    setFollowing(box.scrollHeight - box.scrollTop - box.clientHeight < 48)
  }
  return (
    <div className="relative flex min-h-0 flex-1 flex-col">
      <div
        ref={ref}
        role="log"
        aria-label={t('log.label')}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        onScroll={onScroll}
        className="min-h-0 flex-1 overflow-y-auto"
      >
        <div className="relative" style={{ height: size }}>
          {rows.getVirtualItems().map((item) => {
            const entry = list[item.index]
            return entry === undefined ? null : (
              <div
                key={item.key}
                ref={rows.measureElement}
                data-index={item.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogEntry entry={entry} />
              </div>
            )
          })}
        </div>
      </div>
      {live && !following ? (
        <Button
          size="small"
          className="absolute right-4 bottom-3"
          onClick={() => setFollowing(true)}
        >
          {t('log.follow')}
        </Button>
      ) : null}
    </div>
  )
}
