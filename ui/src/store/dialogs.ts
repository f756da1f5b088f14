import { create } from 'zustand'
import type { RepoId, TaskId } from '@/domain/model'

type Open =
  | { kind: 'none' }
  | { kind: 'palette' }
  | { kind: 'asks' }
  | { kind: 'shortcuts' }
  | { kind: 'task'; repo: RepoId | null }
  | { kind: 'repo'; repo: RepoId | null }
  | { kind: 'provider'; name: string | null }

type DialogState = {
  open: Open
  selected: TaskId | null
  show(open: Open): void
  close(): void
  select(task: TaskId | null): void
}

/** One dialog at a time, and the card the keyboard stands on. */
export const useDialogs = create<DialogState>((set) => ({
  open: { kind: 'none' },
  selected: null,
  show: (open) => set({ open }),
  close: () => set({ open: { kind: 'none' } }),
  select: (selected) => set({ selected }),
}))
