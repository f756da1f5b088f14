import { type KeyboardEvent, useEffect, useRef } from 'react'

// What the long lists of the screen have in common. Their focus stays on the
// list, of which only the rows in sight are drawn.

/** Shows a selection that came from elsewhere, once its row is there. */
export function useReveal(
  index: number,
  selected: string | number,
  reveal: (index: number) => void,
): void {
  const shown = useRef<string | number | null>(null)
  useEffect(() => {
    if (index < 0 || shown.current === selected) return
    shown.current = selected
    reveal(index)
  })
}

const near = 20

/** Asks for more when the last row that is drawn is near the end. */
export function useEnd(last: number, length: number, onEnd: () => void): void {
  useEffect(() => {
    if (last >= length - near) onEnd()
  }, [last, length, onEnd])
}

/** The keys of a list box: down and up by one. */
export function stepKeys(move: (by: 1 | -1) => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === 'ArrowDown' || event.key === 'j') move(1)
    else if (event.key === 'ArrowUp' || event.key === 'k') move(-1)
    else return
    event.preventDefault()
  }
}
