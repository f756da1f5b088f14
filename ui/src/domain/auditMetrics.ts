import type { Totals } from './auditCall'
import type { Range } from './auditPlace'
import { count } from './time'

// Sums of calls by group and over time, and what charts make of them.

export type Sums = Totals & { sessions: number }
export type Point = Sums & { at: Date }
export type Group = Sums & { key: string; points: Point[]; more: number }
export type Metrics = { groups: Group[]; rest: Group | null; all: Group }

export const measures = ['tokens', 'cost', 'sessions', 'calls', 'errors', 'refused'] as const
export type Measure = (typeof measures)[number]

export function measure(sums: Sums, name: Measure): number {
  switch (name) {
    case 'tokens':
      return sums.input + sums.output
    case 'errors':
      return sums.failed
    default:
      return sums[name]
  }
}

export type Step = 'hour' | 'day'
export type Window = { from: Date | null; to: Date | null; step: Step }

const days: Record<Exclude<Range, 'all'>, number> = { '1d': 1, '7d': 7, '30d': 30, '90d': 90 }
const day = 86_400_000

/** The time between two moments; one that is null is no bound. */
export function between(from: Date | null, to: Date | null, now: Date): Window {
  const short = from !== null && (to ?? now).getTime() - from.getTime() <= 2 * day
  return { from, to, step: short ? 'hour' : 'day' }
}

/** The time that a range asks for, and how fine its points are. */
export function windowOf(range: Range, now: Date): Window {
  if (range === 'all') return { from: null, to: null, step: 'day' }
  // Whole hours: the same question is asked in the same words for a while.
  const hour = Math.ceil(now.getTime() / 3_600_000) * 3_600_000
  return {
    from: new Date(hour - days[range] * day),
    to: null,
    step: days[range] <= 2 ? 'hour' : 'day',
  }
}

type Series = { key: string; rest: boolean; values: number[] }
export type Chart = { at: Date[]; series: Series[] }

/** Beyond these only times with something to tell are drawn. */
const mostTimes = 2000

/** Every step from the beginning of the window to now, in the reader's zone. */
function timesOf(metrics: Metrics, window: Window, now: Date): number[] {
  const told = metrics.all.points.map((point) => point.at.getTime())
  const first =
    window.from?.getTime() ?? told.reduce((a, b) => Math.min(a, b), now.getTime() - 6 * day)
  const end = window.to ?? now
  const times = new Set(told)
  const at = new Date(first)
  if (window.step === 'day') at.setHours(0, 0, 0, 0)
  else at.setMinutes(0, 0, 0)
  for (let n = 0; n < mostTimes && at <= end; n++) {
    times.add(at.getTime())
    if (window.step === 'day') at.setDate(at.getDate() + 1)
    else at.setTime(at.getTime() + 3_600_000)
  }
  return [...times].sort((a, b) => a - b)
}

/** One line for each group and one for the rest, all over the same times; 0 where nothing was. */
export function chartOf(
  metrics: Metrics,
  name: Measure,
  most: number,
  window: Window,
  now: Date,
): Chart {
  const top = metrics.groups.slice(0, most)
  const times = timesOf(metrics, window, now)
  const place = new Map(times.map((time, index) => [time, index]))
  const line = (points: readonly Point[]): number[] => {
    const values = times.map(() => 0)
    for (const point of points) {
      const index = place.get(point.at.getTime())
      if (index !== undefined) values[index] = measure(point, name)
    }
    return values
  }
  const series: Series[] = top.map((group) => ({
    key: group.key,
    rest: false,
    values: line(group.points),
  }))
  const left = [...metrics.groups.slice(most), ...(metrics.rest === null ? [] : [metrics.rest])]
  if (left.length > 0) {
    const values = times.map(() => 0)
    for (const group of left) {
      line(group.points).forEach((value, index) => {
        values[index] = (values[index] ?? 0) + value
      })
    }
    series.push({ key: '', rest: true, values })
  }
  return { at: times.map((time) => new Date(time)), series }
}

export type Figure = {
  name: string
  unit: '' | 'tokens' | 'nano_usd' | 'us'
  a: number
  b: number
  delta: number
  verdict: '' | 'improved' | 'regressed' | 'unchanged'
  decides: boolean
}

export type RunSummary = Sums & {
  run: string
  task: string
  template: string
  agent: string
  model: string
  began: Date
  ended: Date
  wallUs: number
  stages: number
  roundTrips: number
}

export type Verdict = 'improved' | 'regressed' | 'mixed' | 'unchanged'
export type RunDiff = { a: RunSummary; b: RunSummary; figures: Figure[]; verdict: Verdict }

/** By how much b is more than a, in percent; null where a is nothing. */
export function percent({ a, b }: Pick<Figure, 'a' | 'b'>): number | null {
  return a === 0 ? null : Math.round(((b - a) / a) * 1000) / 10
}

/** The host counts no further: what is more is one more than this. */
const mostCounted = 10_000

/** How many fit a filter, as far as the host counted. */
export function counted(n: number, language: string): string {
  return n > mostCounted ? `${count(mostCounted, language)}+` : count(n, language)
}

/** Milliseconds for people: 12 ms, 3.4 s, 1 min 5 s. */
export function duration(us: number, language: string): string {
  const number = (value: number, digits: number) =>
    new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value)
  const ms = us / 1000
  if (ms < 1) return `${number(ms, 1)} ms`
  if (ms < 1000) return `${number(ms, 0)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${number(seconds, 1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${number(Math.floor(seconds % 60), 0)} s`
  return `${number(Math.floor(minutes / 60), 0)} h ${minutes % 60} min`
}
