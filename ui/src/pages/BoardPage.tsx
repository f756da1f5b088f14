import { Outlet, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { useRepos } from '@/api/repos'
import { useTasks } from '@/api/tasks'
import { ErrorNote, Skeleton } from '@/components/State'
import { columns, type RepoId } from '@/domain/model'
import { Board } from '@/features/board/Board'
import { BoardBar } from '@/features/board/BoardBar'
import { withWords } from '@/i18n'

const FirstRun = lazy(() =>
  withWords(import('@/features/board/FirstRun')).then((m) => ({ default: m.FirstRun })),
)

export function BoardPage() {
  const { repo, q = '', wide } = useSearch({ from: '/board' })
  const { taskId } = useParams({ strict: false })
  const navigate = useNavigate()
  const filter = (text: string) =>
    void navigate({
      to: '.',
      search: (old) => ({ ...old, q: text === '' ? undefined : text }),
      replace: true,
    })
  const id = (repo as RepoId | undefined) ?? null
  return (
    <>
      <div className={wide && taskId !== undefined ? 'hidden' : 'flex min-w-0 flex-1 flex-col'}>
        <BoardBar filter={q} onFilter={filter} repo={id} />
        <Content
          repo={id}
          filter={q}
          onClear={() => filter('')}
          drawerOpen={taskId !== undefined}
        />
      </div>
      <Outlet />
    </>
  )
}

type Props = { repo: RepoId | null; filter: string; onClear(): void; drawerOpen: boolean }

function Content({ repo, filter, onClear, drawerOpen }: Props) {
  const repos = useRepos()
  const tasks = useTasks()
  if (tasks.isError) return <ErrorNote error={tasks.error} onRetry={() => void tasks.refetch()} />
  if (repos.isError) return <ErrorNote error={repos.error} onRetry={() => void repos.refetch()} />
  if (tasks.isPending || repos.isPending) return <Waiting />
  if (repos.data.length === 0 && tasks.data.length === 0) {
    return (
      <Suspense fallback={<Waiting />}>
        <FirstRun />
      </Suspense>
    )
  }
  return (
    <Board
      tasks={tasks.data}
      repo={repo}
      filter={filter}
      onClear={onClear}
      drawerOpen={drawerOpen}
    />
  )
}

function Waiting() {
  return (
    <div className="flex flex-1 gap-4 p-4">
      {columns.map((column) => (
        <div key={column} className="flex flex-1 flex-col gap-2">
          <Skeleton className="h-5 w-24" />
          <Skeleton className="h-24" />
          <Skeleton className="h-24" />
        </div>
      ))}
    </div>
  )
}
