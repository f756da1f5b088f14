// The words of the interface. The api layer parses what the host sends into
// these types; nothing below it sees a wire shape.

import type { Limit } from './limit'

declare const brand: unique symbol
type Id<Name extends string> = string & { readonly [brand]: Name }

export type RepoId = Id<'repo'>
export type TaskId = Id<'task'>
export type RunId = Id<'run'>

export const statuses = [
  'draft',
  'queued',
  'preparing',
  'running',
  'waiting',
  'reviewing',
  'merging',
  'done',
  'failed',
  'cancelled',
  'stopped',
  'skipped',
  'reused',
] as const
export type Status = (typeof statuses)[number]

export const columns = ['inbox', 'working', 'needs_you', 'done'] as const
export type Column = (typeof columns)[number]

export const ciStates = [
  'none',
  'pending',
  'running',
  'passed',
  'passed_gate_changed',
  'failed',
  'stale',
  'error',
] as const
export type CIState = (typeof ciStates)[number]

export type Gate = { policy: string; argv: string[]; timeoutSeconds: number }

export type Repo = {
  id: RepoId
  name: string
  path: string
  target: string
  ci: Gate | null
  branches: string[]
  problem: string
}

export type Stage = {
  id: string
  name: string
  kind: string
  policy: string
  digest: string
  session: string
  status: Status
  cause: string
  exitCode: number
  requests: number
  tokens: number
  cost: number
  started: Date | null
  ended: Date | null
}

export type Run = {
  id: RunId
  status: Status
  cause: string
  driver: string
  stages: Stage[]
  started: Date | null
  ended: Date | null
}

export type Skipped = { path: string; reason: string }

export type Attempt = {
  id: string
  number: number
  branch: string
  base: string
  head: string
  run: Run | null
  summary: string
  skipped: Skipped[]
}

export type Task = {
  id: TaskId
  number: number
  repoId: RepoId
  repoName: string
  title: string
  detail: string
  base: string
  target: string
  template: string
  provider: string
  model: string
  scripted: boolean
  status: Status
  column: Column
  cause: string
  next: string
  attempt: Attempt | null
  added: number
  deleted: number
  files: number
  ci: CIState
  tokens: number
  /** 1e-9 USD; what has no price counts nothing. */
  cost: number
  /** Providers beside the model that its agents may reach. */
  reach: string[]
  /** Bounds of all its runs together, and of each of them. */
  budget: Limit
  runBudget: Limit
  version: number
  created: Date
  updated: Date
}

export type CI = {
  state: CIState
  resultTree: string
  targetOid: string
  head: string
  gateHash: string
  digest: string
  exitCode: number
  cause: string
  changed: string[]
  log: string
  logCut: boolean
  started: Date | null
  ended: Date | null
}

type Conflict = { path: string; kinds: string[] }

type Preview = {
  target: string
  targetOid: string
  head: string
  mergeBase: string
  resultTree: string
  ahead: number
  behind: number
  conflicts: Conflict[]
  upToDate: boolean
}

export type Blocker = { code: string; message: string }

/** The objects an approval is about. */
export type Bound = {
  head: string
  target: string
  targetOid: string
  resultTree: string
  gateHash: string
  ciState: CIState
  logHead: string
}

export type Approval = { id: string; seq: number; at: Date; bound: Bound }

/**
 * What was approved before: nothing; something that still holds, so that only
 * the merge is missing; or something that moved since, which counts as nothing.
 */
export type Approved =
  | { state: 'none' }
  | { state: 'holds'; approval: Approval }
  | { state: 'stale'; reason: string }

export type Review = {
  preview: Preview
  ci: CI
  approved: Approved
  canApprove: boolean
  blockers: Blocker[]
  acks: string[]
  baseMoved: boolean
  checkedOut: boolean
  logHead: string
  truncated: string[]
}

export function oneOf<T extends string>(all: readonly T[], value: string, otherwise: T): T {
  return all.find((one) => one === value) ?? otherwise
}

/** The first digits of an object id, enough to compare by eye. */
export function shortId(oid: string): string {
  return oid.slice(0, 10)
}
