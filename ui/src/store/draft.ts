import { create } from 'zustand'

// What a person typed into the new-task dialog and has not sent, and where the
// last task went. A draft lives as long as the window; the repository longer.

export type Draft = {
  repoId: string
  title: string
  detail: string
  base: string
  target: string
  provider: string
  model: string
}

type DraftState = {
  draft: Draft | null
  /** The repository of the last task; empty when there was none. */
  last: string
  keep(draft: Draft): void
  discard(): void
  sent(repo: string): void
}

const key = 'moeca.repo'

function read(): string {
  try {
    return localStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

export const useDraft = create<DraftState>((set) => ({
  draft: null,
  last: read(),
  keep: (draft) => set({ draft: draft.title + draft.detail === '' ? null : draft }),
  discard: () => set({ draft: null }),
  sent(repo) {
    set({ draft: null, last: repo })
    try {
      localStorage.setItem(key, repo)
    } catch {
      // Without storage the next window begins with the first repository.
    }
  },
}))
