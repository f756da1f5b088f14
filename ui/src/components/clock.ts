// One timer for every age and elapsed time on the screen.

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

export function subscribeClock(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    for (const tell of listeners) tell()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}
