export const recordKinds = [
  'intent',
  'outcome',
  'refusal',
  'admin',
  'approval',
  'merge',
  'fetch',
  'system',
  'ci',
] as const
export type RecordKind = (typeof recordKinds)[number]

export type AuditRow = {
  seq: number
  time: Date
  kind: string
  source: string
  actor: string
  hash: string
  prev: string
  ref: number
  task: string
  run: string
  stage: string
  session: string
  agent: string
  upstream: string
  method: string
  target: string
  gate: string
  reason: string
  status: number
  result: string
  durationUs: number
  model: string
  input: number
  output: number
  bytesIn: number
  bytesOut: number
  scripted: boolean
  subject: string
  detail: string
  attrs: [string, string][]
  hasBody: boolean
  partial: boolean
}

export function isDenied(row: AuditRow): boolean {
  return row.kind === 'refusal'
}

/** What a row was about, in one line. */
export function headline(row: AuditRow): string {
  if (row.target !== '') return [row.method, row.target].filter(Boolean).join(' ')
  const action = row.attrs.find(([key]) => key === 'action')?.[1] ?? ''
  return [action, row.subject].filter(Boolean).join(' ')
}

export type VerifyReport = {
  ok: boolean
  records: number
  head: string
  firstBroken: number
  problem: string
  openIntents: number
  witnesses: WitnessFinding[]
}

/** What a witness says of the log. */
type WitnessFinding = {
  id: string
  name: string
  ok: boolean
  rows: number
  problem: string
}
