import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Problem } from '@/api/problem'
import { type RepoForm, useAddRepo, useRemoveRepo, useRepos, useUpdateRepo } from '@/api/repos'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { ErrorNote } from '@/components/State'
import type { Repo, RepoId } from '@/domain/model'
import { useToasts } from '@/store/toasts'
import { emptyDraft, toDraft, toGate } from './draft'
import { fieldOf } from './field'
import { RepoFields } from './RepoFields'

type Props = { repo: RepoId | null; onClose(): void; onAdded(repo: Repo): void }

export function RepoDialog({ repo, onClose, onAdded }: Props) {
  const { t } = useTranslation()
  const known = useRepos().data?.find((one) => one.id === repo)
  const title = known === undefined ? t('rail.addRepo') : t('repo.edit')
  return (
    <Dialog title={title} onClose={onClose}>
      {known === undefined ? (
        <AddForm onClose={onClose} onAdded={onAdded} />
      ) : (
        <EditForm repo={known} onClose={onClose} />
      )}
    </Dialog>
  )
}

function AddForm({ onClose, onAdded }: Omit<Props, 'repo'>) {
  const { t } = useTranslation()
  const [draft, setDraft] = useState(emptyDraft)
  const add = useAddRepo()
  const show = useToasts((state) => state.show)
  const gate = toGate(draft)
  const submit = () => {
    if (!gate.ok) return
    const form: RepoForm = {
      path: draft.path.trim(),
      name: draft.name.trim(),
      target: draft.target.trim(),
      ci: gate.gate,
    }
    add.mutate(form, {
      onSuccess(repo) {
        show(t('repo.added', { name: repo.name }))
        onAdded(repo)
      },
    })
  }
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      className="flex min-h-0 flex-col"
    >
      <RepoFields draft={draft} onChange={setDraft} problem={add.error} editing={false} />
      <Unplaced error={add.error} />
      <div className="flex justify-end gap-2 border-t border-line px-4 py-3">
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" changes look="solid" disabled={add.isPending || !gate.ok}>
          {t('rail.addRepo')}
        </Button>
      </div>
    </form>
  )
}

function EditForm({ repo, onClose }: { repo: Repo; onClose(): void }) {
  const { t } = useTranslation()
  const [draft, setDraft] = useState(() => toDraft(repo))
  const update = useUpdateRepo(repo.id)
  const remove = useRemoveRepo()
  const show = useToasts((state) => state.show)
  const gate = toGate(draft)
  const submit = () => {
    if (!gate.ok) return
    const done = () => {
      show(t('repo.saved', { name: repo.name }))
      onClose()
    }
    update.mutate({ target: draft.target.trim(), ci: gate.gate }, { onSuccess: done })
  }
  // With the repository this form goes as well: follow the promise.
  const drop = () =>
    remove.mutateAsync(repo.id).then(
      () => {
        show(t('repo.removed', { name: repo.name }))
        onClose()
      },
      () => undefined,
    )
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      className="flex min-h-0 flex-col"
    >
      <RepoFields draft={draft} onChange={setDraft} problem={update.error} editing />
      <Unplaced error={update.error ?? remove.error} />
      <div className="flex items-center gap-2 border-t border-line px-4 py-3">
        <Button look="danger" changes onClick={() => void drop()} disabled={remove.isPending}>
          {t('repo.remove')}
        </Button>
        <span className="flex-1 text-sm text-t3">{t('repo.removeHelp')}</span>
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" changes look="solid" disabled={update.isPending || !gate.ok}>
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}

/** What the host said that belongs to no field of the form. */
function Unplaced({ error }: { error: Error | null }) {
  if (error === null) return null
  if (error instanceof Problem && fieldOf(error) !== null) return null
  return <ErrorNote error={error} />
}
