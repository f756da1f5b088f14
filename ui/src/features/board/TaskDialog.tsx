import { useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { useProviders } from '@/api/providers'
import { useRepos } from '@/api/repos'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { Empty, SkeletonLines } from '@/components/State'
import type { RepoId, Task } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'
import { useDraft } from '@/store/draft'
import { TaskForm } from './TaskForm'

type Props = { repo: RepoId | null; onClose(): void; onCreated(task: Task): void }

export function TaskDialog({ repo, onClose, onCreated }: Props) {
  const { t } = useTranslation()
  const repos = useRepos().data
  const providers = useProviders().data
  const show = useDialogs((state) => state.show)
  const filter: string | undefined = useSearch({ strict: false }).repo
  const last = useDraft((state) => state.last)
  return (
    <Dialog title={t('task.create')} onClose={onClose} keeps>
      {repos === undefined || providers === undefined ? (
        <SkeletonLines lines={6} />
      ) : repos.length === 0 ? (
        <Empty title={t('first.title')} help={t('first.help')}>
          <Button look="solid" onClick={() => show({ kind: 'repo', repo: null })}>
            {t('rail.addRepo')}
          </Button>
        </Empty>
      ) : (
        <TaskForm
          repos={repos}
          providers={providers.filter((one) => one.runnable)}
          first={repos.find((one) => one.id === (repo ?? filter ?? last)) ?? repos[0]}
          onClose={onClose}
          onCreated={onCreated}
        />
      )}
    </Dialog>
  )
}
