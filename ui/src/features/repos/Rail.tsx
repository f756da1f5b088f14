import { FolderGit2, Plus, Settings2, TriangleAlert } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRepos } from '@/api/repos'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { Skeleton } from '@/components/State'
import { Tip } from '@/components/Tip'
import type { Repo, RepoId } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'
import { Running } from './Running'

type Props = { repo: RepoId | null; onRepo(repo: RepoId | null): void }

export function Rail({ repo, onRepo }: Props) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const repos = useRepos()
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
            aria-label={t('repo.add')}
            onClick={() => show({ kind: 'repo', repo: null })}
          >
            <Plus aria-hidden />
          </Button>
        </div>
        <ul>
          <li>
            <Entry active={repo === null} onClick={() => onRepo(null)}>
              <span className="truncate">{t('rail.all')}</span>
            </Entry>
          </li>
          {repos.isPending ? <Skeleton className="m-2 h-5" /> : null}
          {repos.data?.map((one) => (
            <RepoEntry key={one.id} repo={one} active={one.id === repo} onRepo={onRepo} />
          ))}
        </ul>
      </section>
      <Running />
    </nav>
  )
}

type EntryProps = { active: boolean; onClick(): void; children: React.ReactNode }

function Entry({ active, onClick, children }: EntryProps) {
  return (
    <button
      type="button"
      aria-current={active ? 'true' : undefined}
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

function RepoEntry({
  repo,
  active,
  onRepo,
}: { repo: Repo; active: boolean } & Pick<Props, 'onRepo'>) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const bad = repo.problem !== ''
  return (
    <li className="group flex items-center">
      <div className="min-w-0 flex-1">
        <Entry active={active} onClick={() => onRepo(repo.id)}>
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
        aria-label={`${t('rail.manage')}: ${repo.name}`}
        onClick={() => show({ kind: 'repo', repo: repo.id })}
      >
        <Settings2 aria-hidden />
      </Button>
    </li>
  )
}
