import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect } from 'react'
import { withWords } from '@/i18n'
import { useDialogs } from '@/store/dialogs'

const loadPalette = () =>
  withWords(import('@/features/palette/Palette')).then((m) => ({ default: m.Palette }))
const Palette = lazy(loadPalette)
const Shortcuts = lazy(() =>
  withWords(import('@/features/palette/Shortcuts')).then((m) => ({ default: m.Shortcuts })),
)
const AsksDialog = lazy(() =>
  withWords(import('@/features/asks/AsksDialog')).then((m) => ({ default: m.AsksDialog })),
)
const TaskDialog = lazy(() =>
  withWords(import('@/features/board/TaskDialog')).then((m) => ({ default: m.TaskDialog })),
)
const RepoDialog = lazy(() =>
  withWords(import('@/features/repos/RepoDialog')).then((m) => ({ default: m.RepoDialog })),
)
const ProviderEditor = lazy(() =>
  withWords(import('@/features/settings/ProviderEditor')).then((m) => ({
    default: m.ProviderEditor,
  })),
)

export function Dialogs() {
  const { open, close, select } = useDialogs()
  const navigate = useNavigate()
  // People type as soon as they have pressed Ctrl K: have it before that.
  useEffect(() => void loadPalette(), [])
  const dialog = () => {
    switch (open.kind) {
      case 'none':
        return null
      case 'palette':
        return <Palette onClose={close} />
      case 'asks':
        return <AsksDialog onClose={close} />
      case 'shortcuts':
        return <Shortcuts onClose={close} />
      case 'provider':
        return <ProviderEditor name={open.name} onClose={close} />
      case 'repo':
        return (
          <RepoDialog
            key={open.repo ?? ''}
            repo={open.repo}
            onClose={close}
            onAdded={(repo) => {
              close()
              void navigate({ to: '/', search: { repo: repo.id } })
            }}
          />
        )
      case 'task':
        return (
          <TaskDialog
            repo={open.repo}
            onClose={close}
            onCreated={(task) => {
              close()
              select(task.id)
            }}
          />
        )
    }
  }
  return <Suspense fallback={null}>{dialog()}</Suspense>
}
