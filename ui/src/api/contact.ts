// Whether the host answers, and when it last did. Every answer and every event
// is a sign of life; only the event stream, which is always open, says that it
// is gone.

let last = new Date()
let there = true

export function touch(): void {
  last = new Date()
}

export function lastContact(): Date {
  return last
}

export function setReachable(now: boolean): void {
  there = now
  if (now) touch()
}

/** While nobody listens nothing is sent that could change something. */
export function reachable(): boolean {
  return there
}
