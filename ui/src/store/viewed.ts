import { create } from 'zustand'

// Which files of which result a person ticked. The key holds both object ids,
// so that a tick never survives a change of what it was about.

type ViewedState = {
  ticks: Record<string, true>
  toggle(file: string): void
}

export const useViewed = create<ViewedState>((set) => ({
  ticks: {},
  toggle(file) {
    set(({ ticks }) => {
      const { [file]: was, ...rest } = ticks
      return { ticks: was ? rest : { ...ticks, [file]: true } }
    })
  },
}))

export function viewedKey(file: { path: string; oldOid: string; newOid: string }): string {
  return `${file.oldOid}:${file.newOid}:${file.path}`
}
