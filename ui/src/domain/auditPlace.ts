import type { StageRef } from './auditCall'

// Where somebody is on the Audit screen. All of it is in the address, so that
// an address given to somebody else shows the same.

export const auditTabs = ['trace', 'rows', 'metrics', 'compare'] as const
export type AuditTab = (typeof auditTabs)[number]

export const groupings = ['run', 'stage', 'agent', 'model', 'upstream', 'task', 'day'] as const
export type Grouping = (typeof groupings)[number]

export const ranges = ['1d', '7d', '30d', '90d', 'all'] as const
export type Range = (typeof ranges)[number]

/** The address after the "?"; what is left out is at its start. */
export type AuditPlace = {
  view?: AuditTab
  q?: string
  /** "-" is none, here and in run and stage. */
  task?: string
  run?: string
  stage?: string
  message?: string
  part?: number
  /** A row of the log. */
  seq?: number
  live?: boolean
  by?: Grouping
  range?: Range
  /** The runs that are compared. */
  a?: string
  b?: string
}

const longest = 512

function text(value: unknown): string | undefined {
  const found = typeof value === 'number' ? String(value) : value
  return typeof found === 'string' && found !== '' && found.length <= longest ? found : undefined
}

function positive(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

function one<T extends string>(all: readonly T[], value: unknown): T | undefined {
  return all.find((known) => known === value)
}

/** What an address says; whatever cannot be meant is left out. */
export function toPlace(search: Record<string, unknown>): AuditPlace {
  const place: AuditPlace = {
    view: one(auditTabs, search.view),
    q: text(search.q),
    task: text(search.task),
    run: text(search.run),
    stage: text(search.stage),
    message: text(search.message),
    part: positive(search.part),
    seq: positive(search.seq),
    live: search.live === true ? true : undefined,
    by: one(groupings, search.by),
    range: one(ranges, search.range),
    a: text(search.a),
    b: text(search.b),
  }
  return Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined))
}

/** A link to a row without a tab is one to the table of rows. */
export function tabOf(place: AuditPlace): AuditTab {
  return place.view ?? (place.seq === undefined ? 'trace' : 'rows')
}

const none = '-'

/** The stage that is selected, with empty strings for none. */
export function stageOf(place: AuditPlace): StageRef | null {
  if (place.task === undefined || place.stage === undefined) return null
  return {
    task: fromWire(place.task),
    run: fromWire(place.run ?? none),
    stage: fromWire(place.stage),
  }
}

export function toWire(id: string): string {
  return id === '' ? none : id
}

export function fromWire(id: string): string {
  return id === none ? '' : id
}

/** The address of something in the tree; nothing of an earlier selection is kept. */
export function selected(
  of: StageRef | { task: string },
  message?: string,
  part?: number,
): Pick<AuditPlace, 'task' | 'run' | 'stage' | 'message' | 'part' | 'seq'> {
  const stage = 'stage' in of ? { run: toWire(of.run), stage: toWire(of.stage) } : {}
  return {
    task: toWire(of.task),
    run: undefined,
    seq: undefined,
    message,
    // The first part is 1: an address without one means the message.
    part: part === undefined ? undefined : part + 1,
    ...('stage' in of ? stage : { stage: undefined }),
  }
}
