import { FolderGit2, Plus, Settings2, TriangleAlert } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useRepos } from '@/api/repos'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { Skeleton } from '@/components/State'
import { Tip } from '@/components/Tip'
import { plain } from '@/domain/bidi'
import type { Repo, RepoId } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'
import { Running } from './Running'

type Props = { repo: RepoId | null; onRepo(repo: RepoId | null): void }

export function Rail({ repo, onRepo }: Props) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const repos = useRepos()
  const list = useRef<HTMLUListElement>(null)
  // One stop for the Tab key, however many repositories there are: the one the
  // arrows last stood on, else the one that is shown.
  const [at, setAt] = useState<string>(repo ?? '')
  const stop = repos.data?.some((one) => one.id === at) ? at : ''
  return (
    <nav
      aria-label={t('rail.repositories')}
      className="flex w-56 shrink-0 flex-col gap-4 overflow-y-auto border-r border-line bg-panel p-2"
    >
      <section>
        <div className="flex items-center pl-2">
          <h2 className="flex-1 text-sm font-semibold text-t3">{t('rail.repositories')}</h2>
          <Button
            look="ghost"
            size="icon"
            aria-label={t('rail.addRepo')}
            onClick={() => show({ kind: 'repo', repo: null })}
          >
            <Plus aria-hidden />
          </Button>
        </div>
        <ul ref={list} onKeyDown={(event) => walk(list.current, event)}>
          <li data-row>
            <Entry
              active={repo === null}
              stop={stop === ''}
              onFocus={() => setAt('')}
              onClick={() => onRepo(null)}
            >
              <span className="truncate">{t('rail.all')}</span>
            </Entry>
          </li>
          {repos.isPending ? <Skeleton className="m-2 h-5" /> : null}
          {repos.data?.map((one) => (
            <RepoEntry
              key={one.id}
              repo={one}
              active={one.id === repo}
              stop={one.id === stop}
              onFocus={() => setAt(one.id)}
              onRepo={onRepo}
            />
          ))}
        </ul>
      </section>
      <Running />
    </nav>
  )
}

/** Up and down walk the rows, right and left the buttons of one. */
function walk(list: HTMLElement | null, event: KeyboardEvent): void {
  const rows = [...(list?.querySelectorAll('[data-row]') ?? [])].map((row) => [
    ...row.querySelectorAll('button'),
  ])
  const y = rows.findIndex((row) => row.some((button) => button === event.target))
  const x = rows[y]?.findIndex((button) => button === event.target) ?? 0
  const next = {
    ArrowDown: rows[y + 1]?.[0],
    ArrowUp: rows[y - 1]?.[0],
    ArrowRight: rows[y]?.[x + 1],
    ArrowLeft: rows[y]?.[x - 1],
    Home: rows[0]?.[0],
    End: rows.at(-1)?.[0],
  }[event.key]
  if (!/^(Arrow|Home|End)/.test(event.key)) return
  event.preventDefault()
  next?.focus()
}

type EntryProps = {
  active: boolean
  /** Whether the Tab key stops here. */
  stop: boolean
  onFocus(): void
  onClick(): void
  children: React.ReactNode
}

function Entry({ active, stop, onFocus, onClick, children }: EntryProps) {
  return (
    <button
      type="button"
      aria-current={active ? 'true' : undefined}
      tabIndex={stop ? 0 : -1}
      onFocus={onFocus}
      onClick={onClick}
      className={cn(
        'flex h-7 w-full min-w-0 items-center gap-2 rounded-md px-2 text-left text-base',
        active ? 'bg-hover font-medium text-t1' : 'text-t2 hover:bg-hover',
      )}
    >
      {children}
    </button>
  )
}

type RepoProps = { repo: Repo } & Pick<EntryProps, 'active' | 'stop' | 'onFocus'> &
  Pick<Props, 'onRepo'>

function RepoEntry({ repo, active, stop, onFocus, onRepo }: RepoProps) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const bad = repo.problem !== ''
  return (
    <li data-row className="group flex items-center">
      <div className="min-w-0 flex-1">
        <Entry active={active} stop={stop} onFocus={onFocus} onClick={() => onRepo(repo.id)}>
          <FolderGit2 aria-hidden className="size-3.5 shrink-0 text-t3" />
          <span className="truncate">
            <Safe text={repo.name} />
          </span>
          {bad ? (
            <Tip text={repo.problem}>
              <span className="shrink-0">
                <TriangleAlert aria-label={t('rail.problem')} className="size-3.5 text-amber" />
              </span>
            </Tip>
          ) : null}
        </Entry>
      </div>
      <Button
        look="ghost"
        size="icon"
        tabIndex={-1}
        aria-label={`${t('rail.manage')}: ${plain(repo.name)}`}
        onClick={() => show({ kind: 'repo', repo: repo.id })}
      >
        <Settings2 aria-hidden />
      </Button>
    </li>
  )
}
