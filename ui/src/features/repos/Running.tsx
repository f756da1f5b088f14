import { useNavigate } from '@tanstack/react-router'
import { ShieldCheck, Square } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useTasks } from '@/api/tasks'
import { Button } from '@/components/Button'
import { Safe } from '@/components/Safe'
import { Tip } from '@/components/Tip'
import { useElapsed } from '@/components/useAge'
import { plain } from '@/domain/bidi'
import { isLive } from '@/domain/column'
import type { Task } from '@/domain/model'
import { compact, count } from '@/domain/time'
import { usePerform } from '@/features/task/useActions'

/** More than these are counted; the board shows them all. */
const shown = 12

/** What is running now, on every screen, with its stop. */
export function Running() {
  const { t, i18n } = useTranslation()
  const running = useTasks().data?.filter((task) => isLive(task.status)) ?? []
  return (
    <section>
      <h2 className="px-2 pb-1 text-sm font-semibold text-t3">{t('rail.running')}</h2>
      {running.length === 0 ? <p className="px-2 text-sm text-t4">{t('rail.idle')}</p> : null}
      <ul className="flex flex-col gap-1">
        {running.slice(0, shown).map((task) => (
          <RunningEntry key={task.id} task={task} />
        ))}
      </ul>
      {running.length > shown ? (
        <p className="px-2 pt-1 text-sm text-t3">
          {t('rail.more', { n: count(running.length - shown, i18n.language) })}
        </p>
      ) : null}
    </section>
  )
}

function RunningEntry({ task }: { task: Task }) {
  const { t, i18n } = useTranslation()
  const perform = usePerform()
  const navigate = useNavigate()
  const run = task.attempt?.run ?? null
  const time = useElapsed(run?.started ?? null, run?.ended ?? null)
  return (
    <li className="flex items-center gap-1 rounded-md border border-line bg-card py-1 pl-2">
      <Tip text={t('rail.sandboxed', { driver: run?.driver ?? '…' })}>
        <span className="shrink-0">
          <ShieldCheck
            aria-label={t('rail.sandboxed', { driver: run?.driver ?? '…' })}
            className="size-4 text-green"
          />
        </span>
      </Tip>
      <button
        type="button"
        className="flex min-w-0 flex-1 flex-col text-left"
        onClick={() =>
          void navigate({
            to: '/tasks/$taskId',
            params: { taskId: task.id },
            search: (old) => ({ ...old, tab: 'log' as const }),
          })
        }
      >
        <span className="w-full truncate text-sm">
          <Safe text={task.title} />
        </span>
        <span className="text-xs text-t3">
          {time} · {t('board.tokens', { n: compact(task.tokens, i18n.language) })}
        </span>
      </button>
      <Button
        look="ghost"
        size="icon"
        changes
        aria-label={t('rail.stop', { title: plain(task.title) })}
        onClick={() => perform(task, 'stop')}
      >
        <Square aria-hidden className="text-red" />
      </Button>
    </li>
  )
}
