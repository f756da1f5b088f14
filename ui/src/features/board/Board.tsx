import { Plus } from 'lucide-react'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Empty } from '@/components/State'
import { byColumn, matches } from '@/domain/column'
import { columns, type RepoId, type Task } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'
import { ColumnView } from './ColumnView'
import { useBoardKeys } from './useBoardKeys'

type Props = {
  tasks: Task[]
  repo: RepoId | null
  filter: string
  onClear(): void
  drawerOpen: boolean
}

export function Board({ tasks, repo, filter, onClear, drawerOpen }: Props) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const mine = useMemo(
    () => tasks.filter((task) => repo === null || task.repoId === repo),
    [tasks, repo],
  )
  const shown = useMemo(() => mine.filter((task) => matches(task, filter)), [mine, filter])
  const board = useMemo(() => byColumn(shown), [shown])
  useBoardKeys(board, drawerOpen)
  if (mine.length === 0) {
    return (
      <Empty title={t('board.noTasks')} help={t('board.noTasksHelp')}>
        <Button look="solid" onClick={() => show({ kind: 'task', repo })}>
          <Plus aria-hidden />
          {t('board.newTask')}
        </Button>
      </Empty>
    )
  }
  if (shown.length === 0) {
    return (
      <Empty title={t('board.noMatch')}>
        <Button onClick={onClear}>{t('board.clear')}</Button>
      </Empty>
    )
  }
  return (
    <div className="flex min-h-0 flex-1 gap-2 overflow-x-auto p-2">
      {columns.map((column) => (
        <ColumnView key={column} column={column} tasks={board[column]} />
      ))}
    </div>
  )
}
