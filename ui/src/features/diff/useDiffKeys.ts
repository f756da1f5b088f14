import { type RefObject, useEffect } from 'react'
import { type DiffSet, type Row, seek } from '@/domain/diff'
import { isTyping } from '@/domain/keyboard'
import { useViewed, viewedKey } from '@/store/viewed'

type Keys = {
  set: DiffSet
  rows: Row[]
  at: number
  go(row: number): void
  fold(path: string): void
  scroller: RefObject<HTMLElement | null>
}

/** n/p hunk, j/k file, v viewed: while the diff is what is shown. */
export function useDiffKeys({ set, rows, at, go, fold, scroller }: Keys): void {
  const toggle = useViewed((state) => state.toggle)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (scroller.current === null) return
      switch (event.key) {
        case 'n':
          return go(seek(rows, at, 1, 'hunk'))
        case 'p':
          return go(seek(rows, at, -1, 'hunk'))
        case 'j':
          return go(seek(rows, at, 1, 'file'))
        case 'k':
          return go(seek(rows, at, -1, 'file'))
        case 'v': {
          const file = set.files[rows[at]?.file ?? 0]
          if (file === undefined) return
          toggle(viewedKey(file))
          fold(file.path)
        }
      }
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [set, rows, at, go, fold, scroller, toggle])
}
