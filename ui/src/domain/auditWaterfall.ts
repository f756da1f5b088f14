import type { Call } from './auditCall'

// Calls on a time axis. Long times without any call are left out of the axis
// and named in a line of their own: what happened stays wide enough to see.

export type Bar = { kind: 'call'; call: Call; left: number; width: number }
export type Gap = { kind: 'gap'; key: string; ms: number; at: number }
export type Lane = Bar | Gap

export type Waterfall = {
  lanes: Lane[]
  /** Milliseconds that the axis is wide. */
  busy: number
  /** Milliseconds that were left out. */
  idle: number
}

const leastGap = 1000
const gapShare = 0.02

type Stretch = { from: number; to: number; calls: Call[] }

/** Calls whose times overlap or follow closely, in their order. */
function stretches(calls: readonly Call[], gap: number): Stretch[] {
  const out: Stretch[] = []
  for (const call of calls) {
    const from = call.time.getTime()
    const to = from + Math.max(0, call.durationUs / 1000)
    const last = out.at(-1)
    if (last === undefined || from - last.to > gap) out.push({ from, to, calls: [call] })
    else {
      last.to = Math.max(last.to, to)
      last.calls.push(call)
    }
  }
  return out
}

export function waterfall(calls: readonly Call[]): Waterfall {
  const sorted = [...calls].sort((a, b) => a.time.getTime() - b.time.getTime() || a.seq - b.seq)
  const total = stretches(sorted, 0).reduce((sum, one) => sum + one.to - one.from, 0)
  const parts = stretches(sorted, Math.max(leastGap, total * gapShare))
  const busy = parts.reduce((sum, part) => sum + part.to - part.from, 0)
  const scale = busy > 0 ? 1 / busy : 0
  const lanes: Lane[] = []
  let idle = 0
  let done = 0
  let end: number | null = null
  for (const part of parts) {
    if (end !== null) {
      const ms = part.from - end
      idle += ms
      lanes.push({ kind: 'gap', key: `gap-${part.calls[0]?.seq ?? 0}`, ms, at: done * scale })
    }
    for (const call of part.calls) {
      const left = (done + call.time.getTime() - part.from) * scale
      const width = (Math.max(0, call.durationUs) / 1000) * scale
      lanes.push({ kind: 'call', call, left: clamp(left), width: clamp(Math.min(width, 1 - left)) })
    }
    done += part.to - part.from
    end = part.to
  }
  return { lanes, busy, idle }
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}

/**
 * Round marks on an axis that is `ms` wide, about as many as there is room for,
 * each as far from the one before. They are whole milliseconds, as people read them.
 */
export function ticks(ms: number, room: number): number[] {
  if (ms <= 0 || room < 1) return []
  const raw = ms / room
  const power = 10 ** Math.floor(Math.log10(raw))
  const round = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= raw * 0.8) ?? raw
  const step = Math.max(1, round)
  const out: number[] = []
  for (let at = step; at < ms; at += step) out.push(at)
  return out
}
