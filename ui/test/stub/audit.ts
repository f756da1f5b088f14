import type { components } from '../../src/api/schema'
import { Refusal } from './refusal'
import type { State } from './state'

type Wire = components['schemas']
type Row = Wire['AuditRow']

// What the host's index would say of the stub's rows: every row of kind intent
// is a call that took 40 ms; every second one of a run asks for a tool.

const extension = 'urn:moeca:a2a:recorded:1'

function calls(state: State, query: URLSearchParams): Row[] {
  const wanted = (row: Row) =>
    ['task', 'run', 'stage', 'model', 'upstream'].every((name) => {
      const value = query.get(name) ?? ''
      const have = String(Reflect.get(row, name) ?? '')
      return value === '' || value === have || (value === '-' && have === '')
    })
  const kinds = ['', 'intent', 'outcome', 'refusal']
  if (!kinds.includes(query.get('kind') ?? '')) throw new Refusal(422, 'audit_query', 'not a call')
  const rows = state.audit.filter((row) => row.kind === 'intent' || row.kind === 'refusal')
  const kind = query.get('kind') ?? ''
  const words = query.get('q') ?? ''
  return rows.filter(
    (row) =>
      wanted(row) &&
      (kind !== 'refusal' || row.kind === 'refusal') &&
      (words === '' || (row.target ?? '').includes(words)),
  )
}

function totals(rows: readonly Row[]) {
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0)
  const passed = rows.filter((row) => row.kind === 'intent')
  return {
    calls: passed.length,
    open: 0,
    failed: 0,
    refused: rows.length - passed.length,
    unmetered: 0,
    tools: Math.floor(passed.length / 2),
    tokens_in: sum((row) => row.tokens_in),
    tokens_out: sum((row) => row.tokens_out),
    cache_read: 0,
    cache_write: 0,
    reasoning: 0,
    server_tools: 0,
    cost_nano: sum((row) => row.cost_nano ?? 0),
    duration_us: passed.length * 40_000,
    bytes_in: sum((row) => row.bytes_in),
    bytes_out: sum((row) => row.bytes_out),
  }
}

function span(rows: readonly Row[]) {
  return {
    ...totals(rows),
    first: rows[0]?.seq ?? 0,
    last: rows.at(-1)?.seq ?? 0,
    began: rows[0]?.time ?? '',
    ended: rows.at(-1)?.time ?? '',
    sessions: 1,
  }
}

function groups(rows: readonly Row[], of: (row: Row) => string): Map<string, Row[]> {
  const found = new Map<string, Row[]>()
  for (const row of rows) found.set(of(row), [...(found.get(of(row)) ?? []), row])
  return found
}

export function contexts(state: State, query: URLSearchParams): Wire['AuditListContext'] {
  const found = groups(calls(state, query), (row) => row.task ?? '')
  const items = [...found].map(([task, rows]) => ({ task, runs: 1, stages: 1, ...span(rows) }))
  return { items: items.reverse(), count: items.length }
}

export function stages(state: State, task: string, query: URLSearchParams): Wire['AuditStages'] {
  query.set('task', task)
  const found = groups(calls(state, query), (row) => `${row.run ?? ''}`)
  return {
    task,
    stages: [...found].map(([run, rows]) => ({
      task: rows[0]?.task ?? '',
      run,
      stage: rows[0]?.stage ?? '',
      agent: 'solo',
      template: 'solo',
      nodes: [],
      ...span(rows),
    })),
  }
}

function call(row: Row): Wire['AuditCall'] {
  return {
    ...totals([row]),
    seq: row.seq,
    state: row.kind === 'refusal' ? 'refused' : 'ok',
    time: row.time,
    actor: row.actor,
    task: row.task,
    run: row.run,
    stage: row.stage,
    agent: 'solo',
    upstream: row.upstream,
    class: 'inference',
    method: row.method,
    target: row.target,
    model: row.model,
    gate: row.gate,
    reason: row.reason,
    status: row.status,
    count: 1,
    scripted: row.scripted,
    replayed: false,
    partial: false,
    has_body: true,
    unmetered: false,
  }
}

export function callList(state: State, query: URLSearchParams): Wire['AuditListCall'] {
  const items = calls(state, query).map(call)
  return { items, count: items.length }
}

type Info = Wire['A2APartInfo']

function part(info: Info, content: Omit<Wire['A2APart'], 'metadata'>): Wire['A2APart'] {
  return { ...content, metadata: { [extension]: info } }
}

/** A call of a tool, and in the next call its result; hostile words in between. */
function message(rows: readonly Row[], at: number): Wire['A2AMessage'] {
  const [row, next, last] = [rows[at], rows[at + 1], rows[at - 1]]
  const seq = row?.seq ?? 0
  const parts = [
    part({ kind: 'thinking' }, { text: 'First I look at <img src=x onerror=alert(1)>.' }),
    part({ kind: 'text' }, { text: `Step ${at + 1}: pay\u202egnp.exe` }),
  ]
  const uses = (one: number) => one % 2 === 0 && rows[one + 1] !== undefined
  const id = `use-${uses(at) ? at : at - 1}`
  if (uses(at)) {
    const link = `${next?.seq}-answer`
    const info = { kind: 'tool-use', id, name: 'read_file', link }
    parts.push(part(info, { data: { path: 'README.md' } }))
  } else if (uses(at - 1)) {
    const info = { kind: 'tool-result', id, name: 'read_file', link: `${last?.seq}-answer` }
    parts.push(part(info, { text: 'Hello, reader.' }))
  }
  const attempt = {
    seq,
    time: row?.time,
    durationUs: 40_000,
    method: row?.method,
    target: row?.target,
    model: row?.model,
    status: row?.status,
    result: 'ok',
    scripted: true,
    usage: { input: row?.tokens_in, output: row?.tokens_out },
  }
  return {
    messageId: `${seq}-answer`,
    contextId: row?.task ?? '',
    taskId: row?.run ?? '',
    role: 'ROLE_AGENT',
    extensions: [extension],
    parts,
    metadata: {
      [extension]: { kind: 'message', seqs: [seq], time: row?.time, attempts: [attempt] },
    },
  }
}

function said(state: State, stage: string, query: URLSearchParams): Wire['A2AMessage'][] {
  const where = new URLSearchParams({
    stage,
    task: query.get('task') ?? '',
    run: query.get('run') ?? '',
  })
  const rows = calls(state, where)
  return rows.map((row, at) => {
    const said = message(rows, at)
    const info = said.metadata[extension]
    return state.erased.has(row.seq)
      ? { ...said, parts: [], metadata: { [extension]: { ...info, erased: true } } }
      : said
  })
}

export function messages(
  state: State,
  stage: string,
  query: URLSearchParams,
): Wire['AuditMessages'] {
  const items = said(state, stage, query)
  return {
    items,
    cut: [],
    total: items.length,
    complete: true,
    task: { id: stage, contextId: '', metadata: { [extension]: {} }, status: { state: '' } },
  }
}

export function messageOf(
  state: State,
  stage: string,
  id: string,
  query: URLSearchParams,
): Wire['A2AMessage'] {
  const found = said(state, stage, query).find((one) => one.messageId === id)
  if (found === undefined) throw new Refusal(404, 'audit_message', 'no such message')
  return found
}

export function indexState(state: State): Wire['AuditState'] {
  return { head: state.audit.length, last: state.audit.length }
}

export function witnesses(state: State): Wire['WitnessList'] {
  const at = state.audit.at(-1)?.time
  const host = {
    id: 'host',
    kind: 'host' as const,
    name: 'this host',
    at,
    rows: state.audit.length,
  }
  return { items: [host, ...state.witnesses] }
}

export function facets(state: State): Wire['AuditFacets'] {
  const all = (of: (row: Row) => string | undefined) => [
    ...new Set(state.audit.map(of).filter((one): one is string => one !== undefined)),
  ]
  return {
    agents: ['solo'],
    models: all((row) => row.model),
    upstreams: all((row) => row.upstream),
    runs: all((row) => row.run),
  }
}

export function metrics(state: State, query: URLSearchParams): Wire['AuditMetrics'] {
  const rows = calls(state, query)
  const by = query.get('by') ?? ''
  const group = (key: string, of: readonly Row[]): Wire['AuditGroup'] => ({
    ...totals(of),
    key,
    sessions: 1,
    points: of[0] === undefined ? [] : [{ ...totals(of), sessions: 1, at: hour(of[0].time) }],
  })
  const found = groups(rows, (row) => String(Reflect.get(row, by) ?? ''))
  return { groups: [...found].map(([key, of]) => group(key, of)), all: group('', rows) }
}

export function diff(state: State, query: URLSearchParams): Wire['AuditRunDiff'] {
  const summary = (run: string): Wire['AuditRunSummary'] => {
    const rows = calls(state, new URLSearchParams({ run }))
    if (rows.length === 0) throw new Refusal(404, 'audit_run', 'the log has no call of this run')
    const { first: _first, last: _last, ...sums } = span(rows)
    const [row] = rows
    return {
      ...sums,
      run,
      task: row?.task ?? '',
      template: 'solo',
      agent: 'solo',
      model: row?.model ?? '',
      stages: 1,
      tool_round_trips: sums.tools,
      wall_us: sums.duration_us,
    }
  }
  const [a, b] = [summary(query.get('a') ?? ''), summary(query.get('b') ?? '')]
  const tokens = (run: Wire['AuditRunSummary']) => run.tokens_in + run.tokens_out
  const delta = tokens(b) - tokens(a)
  const verdict = delta < 0 ? 'improved' : delta > 0 ? 'regressed' : 'unchanged'
  const figure = { name: 'tokens', unit: 'tokens', decides: true } as const
  return { a, b, verdict, figures: [{ ...figure, a: tokens(a), b: tokens(b), delta, verdict }] }
}

function hour(time: string): string {
  return `${time.slice(0, 13)}:00:00Z`
}
