import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { extname, join, normalize } from 'node:path'
import type { components } from '../../src/api/schema'
import * as audit from './audit'
import * as keep from './keep'
import { diffOf, playCI, playRun } from './play'
import { Refusal } from './refusal'
import { oid, State } from './state'

type Wire = components['schemas']

/** The policy of the real host, so that a violation shows here as well. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

type Handler = (params: string[], body: Record<string, never>, query: URLSearchParams) => unknown

type Route = [string, RegExp, Handler]

export type Stub = { url: string; state: State; cut(): void; close(): Promise<void> }

export async function startStub(dist: string): Promise<Stub> {
  const state = new State()
  state.row({ kind: 'system', subject: 'opened', source: 'gateway', actor: 'host' })
  const routes = routesOf(state)
  const server = createServer((request, response) => {
    void answer(state, routes, dist, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('stub: no port')
  return {
    url: `http://127.0.0.1:${address.port}/#launch=stub`,
    state,
    cut: () => server.closeAllConnections(),
    close: () => closeServer(server),
  }
}

function closeServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

async function answer(
  state: State,
  routes: [string, RegExp, Handler][],
  dist: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://stub')
  response.setHeader('Content-Security-Policy', policy)
  if (!url.pathname.startsWith('/api/')) return file(dist, url.pathname, response)
  if (url.pathname === '/api/events') return stream(state, response)
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  response.setHeader('Content-Type', 'application/json')
  const authorized =
    url.pathname === '/api/auth/exchange' || request.headers.authorization === 'Bearer stub-bearer'
  try {
    if (!authorized) throw new Refusal(401, 'unauthorized', 'a bearer token is needed')
    for (const [method, path, handler] of routes) {
      const found = method === request.method ? path.exec(url.pathname) : null
      if (found === null) continue
      const body = handler(found.slice(1), text === '' ? {} : JSON.parse(text), url.searchParams)
      response.statusCode = body === undefined ? 204 : 200
      response.end(body === undefined ? '' : JSON.stringify(body))
      return
    }
    throw new Refusal(404, 'not_found', 'no such operation')
  } catch (error) {
    const known = error instanceof Refusal ? error : new Refusal(500, 'internal', String(error))
    response.statusCode = known.status
    response.end(
      JSON.stringify({ title: 'x', status: known.status, code: known.code, detail: known.message }),
    )
  }
}

function file(dist: string, path: string, response: ServerResponse): void {
  const wanted = join(dist, normalize(path))
  const found = extname(path) !== '' && existsSync(wanted) ? wanted : join(dist, 'index.html')
  response.setHeader('Content-Type', types[extname(found)] ?? 'application/octet-stream')
  response.end(readFileSync(found))
}

function stream(state: State, response: ServerResponse): void {
  response.setHeader('Content-Type', 'text/event-stream')
  response.write(`event: ping\ndata: {"time":"${new Date().toISOString()}"}\n\n`)
  const tell = (change: Wire['Change']) =>
    response.write(`id: ${change.seq}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`)
  state.listeners.add(tell)
  response.on('close', () => state.listeners.delete(tell))
}

function routesOf(state: State): [string, RegExp, Handler][] {
  const taskOf = (id: string | undefined) => {
    const task = state.tasks.find((one) => one.id === id)
    if (task === undefined) throw new Refusal(404, 'task_not_found', 'there is no such task')
    return task
  }
  return [
    ['POST', /^\/api\/auth\/exchange$/, () => ({ token: 'stub-bearer', scopes: [] })],
    ['GET', /^\/api\/status$/, () => statusOf(state)],
    ['GET', /^\/api\/doctor$/, doctor],
    ['POST', /^\/api\/demo$/, () => demo(state)],
    ['GET', /^\/api\/repos$/, () => state.repos],
    ['POST', /^\/api\/repos$/, (_p, body) => addRepo(state, body as never)],
    ['GET', /^\/api\/tasks$/, () => ({ items: state.tasks, next: '' })],
    ['POST', /^\/api\/tasks$/, (_p, body) => addTask(state, body as never)],
    ['GET', /^\/api\/tasks\/([^/]+)$/, ([id]) => taskOf(id)],
    [
      'GET',
      /^\/api\/tasks\/([^/]+)\/diff$/,
      ([id], _b, query) => diffOf(state, id ?? '', Number(query.get('max_lines') ?? 20_000)),
    ],
    ['GET', /^\/api\/tasks\/([^/]+)\/review$/, ([id]) => state.review(taskOf(id))],
    ['POST', /^\/api\/tasks\/([^/]+)\/run$/, ([id]) => start(playRun(state, taskOf(id)))],
    ['POST', /^\/api\/tasks\/([^/]+)\/ci$/, ([id]) => start(playCI(state, taskOf(id)))],
    ['POST', /^\/api\/tasks\/([^/]+)\/approve$/, ([id]) => approve(state, taskOf(id))],
    ['POST', /^\/api\/tasks\/([^/]+)\/merge$/, ([id]) => merge(state, taskOf(id))],
    [
      'POST',
      /^\/api\/tasks\/([^/]+)\/approve-and-merge$/,
      ([id]) => ({ approval: approve(state, taskOf(id)), merged: merge(state, taskOf(id)) }),
    ],
    ['GET', /^\/api\/runs\/([^/]+)\/logs$/, ([id], _b, query) => logs(state, id ?? '', query)],
    ...auditRoutes(state),
    ['GET', /^\/api\/audit$/, (_p, _b, query) => auditPage(state, query)],
    ['GET', /^\/api\/audit\/(\d+)$/, ([seq]) => state.audit[Number(seq) - 1]],
    ['GET', /^\/api\/audit\/(\d+)\/bodies$/, bodies],
    ['POST', /^\/api\/audit\/verify$/, () => verify(state)],
    ['GET', /^\/api\/asks$/, () => state.asks],
    ['POST', /^\/api\/asks\/([^/]+)$/, ([id], body) => state.answerAsk(id ?? '', body as never)],
    ['GET', /^\/api\/providers\/([^/]+)\/policy$/, ([name]) => state.policyOf(name ?? '')],
    [
      'PATCH',
      /^\/api\/providers\/([^/]+)\/policy$/,
      ([name], body) => state.setPolicy(name ?? '', body as never),
    ],
    ['GET', /^\/api\/sessions$/, () => state.sessions],
    ['GET', /^\/api\/budgets$/, () => state.budgets],
    ['PUT', /^\/api\/budgets$/, (_p, body) => state.setBudget(body as never)],
    ['GET', /^\/api\/prices$/, () => ({ prices: state.prices })],
    ['GET', /^\/api\/local-servers$/, () => []],
    ['GET', /^\/api\/providers$/, () => state.providers],
    ['PUT', /^\/api\/providers\/([^/]+)\/secret$/, ([name]) => setSecret(state, name ?? '')],
  ]
}

/** Answers at once; the work goes on. */
function start(work: Promise<void>): object {
  void work
  return {}
}

function statusOf(state: State): Wire['Status'] {
  return {
    version: 'stub',
    driver: 'stub',
    driver_note: 'disk quota is polled',
    isolation: 'not proven',
    gateway: { ok: true, records: state.audit.length, head: state.audit.at(-1)?.hash ?? '' },
    witness: { rows: 0, stale: false },
    demo: false,
    data: '/data',
  }
}

function doctor(): Wire['Doctor'] {
  return {
    driver: 'stub',
    drivers: [
      { name: 'docker', usable: false, why: 'no engine answers: start one' },
      { name: 'native', usable: true, limits: ['disk'] },
    ],
    tools: [{ name: 'git', found: true, version: '2.47', need: 'repositories' }],
    images: [{ policy: 'base', ready: true, digest: 'sha256:x' }],
  }
}

function addRepo(state: State, body: Wire['RepoInput']): Wire['Repo'] {
  if (!body.path.startsWith('/')) {
    throw new Refusal(422, 'path_not_absolute', 'the path is not absolute')
  }
  const repo: Wire['Repo'] = {
    id: `repo${state.repos.length + 1}`,
    name: body.name || (body.path.split('/').at(-1) ?? ''),
    path: body.path,
    target: body.target || 'main',
    branches: ['main'],
    created_at: new Date().toISOString(),
    ...(body.ci === undefined ? {} : { ci: body.ci }),
  }
  state.repos.push(repo)
  state.emit('repos', 'repo.changed', repo.id)
  return repo
}

function addTask(state: State, body: Wire['NewTask']): Wire['Task'] {
  const repo = state.repos.find((one) => one.id === body.repo_id)
  const now = new Date().toISOString()
  const task: Wire['Task'] = {
    id: `t${state.tasks.length + 1}`,
    number: state.tasks.length + 1,
    repo_id: body.repo_id,
    repo_name: repo?.name ?? '',
    title: body.title,
    detail: body.detail ?? '',
    base: 'main',
    target: repo?.target ?? 'main',
    template: 'solo',
    provider: body.provider ?? '',
    model: body.model ?? '',
    scripted: body.provider === 'demo',
    status: 'draft',
    column: 'inbox',
    next_action: 'run',
    added: 0,
    deleted: 0,
    files: 0,
    ci: repo?.ci === undefined ? 'none' : 'pending',
    tokens: 0,
    cost_nano: 0,
    reach: [],
    version: 1,
    created_at: now,
    updated_at: now,
  }
  state.tasks.unshift(task)
  state.emit('tasks', 'task.changed', task.id)
  return task
}

function demo(state: State): Wire['Task'] {
  const ci = { policy: 'base', argv: ['./ci/check'], timeout_seconds: 60 }
  const repo = addRepo(state, { path: '/data/demo', name: 'demo', ci })
  return addTask(state, { repo_id: repo.id, title: 'Add a unit', provider: 'demo' })
}

export function approve(state: State, task: Wire['Task']): Wire['Approval'] {
  const seq = state.row({
    kind: 'approval',
    source: 'host',
    actor: 'person',
    task: task.id,
    subject: task.id,
    detail: '{"version":1}',
  })
  const approval = {
    id: 'ap1',
    statement: {
      head: task.attempt?.head_oid ?? '',
      target: task.target,
      target_oid: state.target,
      result_tree: state.resultTree(task),
      gate_hash: '',
      ci_state: task.ci,
      log_head: state.audit.at(-1)?.hash ?? '',
    },
    signature: '',
    public_key: '',
    audit_seq: seq,
    at: new Date().toISOString(),
  }
  state.approvals.set(task.id, approval)
  return approval
}

function merge(state: State, task: Wire['Task']): Wire['Merged'] {
  if (state.review(task).approval_stale) {
    throw new Refusal(409, 'approval_stale', 'the target changed after it was approved')
  }
  const seq = state.row({
    kind: 'merge',
    source: 'host',
    actor: 'person',
    task: task.id,
    subject: task.target,
  })
  state.touch(task, { status: 'done', column: 'done', next_action: '' })
  return {
    commit: oid('merge'),
    tree: oid('tree'),
    target: task.target,
    target_oid: oid('target'),
    audit_seq: seq,
    note: 'the checkout was left as it was',
  }
}

/** What the index of the log answers. */
function auditRoutes(state: State): Route[] {
  return [
    ['GET', /^\/api\/audit\/contexts$/, (_p, _b, query) => audit.contexts(state, query)],
    [
      'GET',
      /^\/api\/audit\/contexts\/([^/]+)\/stages$/,
      ([task], _b, query) => audit.stages(state, task ?? '', query),
    ],
    ['GET', /^\/api\/audit\/calls$/, (_p, _b, query) => audit.callList(state, query)],
    [
      'GET',
      /^\/api\/audit\/stages\/([^/]+)\/messages$/,
      ([stage], _b, query) => audit.messages(state, stage ?? '', query),
    ],
    [
      'GET',
      /^\/api\/audit\/stages\/([^/]+)\/messages\/([^/]+)$/,
      ([stage, id], _b, query) => audit.messageOf(state, stage ?? '', id ?? '', query),
    ],
    ['GET', /^\/api\/audit\/witnesses$/, () => audit.witnesses(state)],
    ['PUT', /^\/api\/audit\/witnesses$/, (_p, body) => keep.putWitness(state, body as never)],
    [
      'DELETE',
      /^\/api\/audit\/witnesses$/,
      (_p, _b, query) => keep.removeWitness(state, query.get('id') ?? ''),
    ],
    ['GET', /^\/api\/audit\/retention$/, () => ({ days: state.retention })],
    ['PUT', /^\/api\/audit\/retention$/, (_p, body) => keep.setRetention(state, body as never)],
    ['POST', /^\/api\/audit\/erase$/, (_p, body) => keep.erase(state, body as never)],
    ['GET', /^\/api\/audit\/index$/, () => audit.indexState(state)],
    ['GET', /^\/api\/audit\/facets$/, () => audit.facets(state)],
    ['GET', /^\/api\/audit\/metrics$/, (_p, _b, query) => audit.metrics(state, query)],
    ['GET', /^\/api\/audit\/diff$/, (_p, _b, query) => audit.diff(state, query)],
  ]
}

function logs(state: State, run: string, query: URLSearchParams): Wire['LogPage'] {
  const after = Number(query.get('after') ?? 0)
  const items = (state.logs.get(run) ?? []).filter((line) => line.seq > after)
  return { items, next: items.at(-1)?.seq ?? after, ended: false }
}

function auditPage(state: State, query: URLSearchParams): Wire['AuditPage'] {
  const before = Number(query.get('before') ?? 0) || Number.POSITIVE_INFINITY
  const kind = query.get('kind') ?? ''
  const rows = state.audit.filter((row) => row.seq < before && (kind === '' || row.kind === kind))
  const items = rows.reverse().slice(0, Number(query.get('limit') ?? 100))
  const last = items.at(-1)?.seq ?? 0
  return {
    items,
    next: last > 1 && items.length < rows.length ? last : 0,
    total: state.audit.length,
    count: rows.length,
    indexed: state.audit.length,
  }
}

function bodies(): Wire['AuditBodies'] {
  const text = '{"model":"scripted-1","messages":[{"role":"user","content":"<b>hello</b>"}]}'
  return {
    request: { text, binary: false, size: text.length, truncated: false },
    response: {
      text: `event: message_start\ndata: ${text}\n\n`,
      binary: false,
      size: 90,
      truncated: true,
    },
  }
}

function verify(state: State): Wire['VerifyReport'] {
  return {
    ok: true,
    records: state.audit.length,
    head: state.audit.at(-1)?.hash ?? '',
    open_intents: 0,
    witnesses: [],
  }
}

function setSecret(state: State, name: string): Wire['Provider'] {
  const provider = state.providers.find((one) => one.name === name)
  if (provider === undefined) throw new Refusal(404, 'not_found', 'no such provider')
  provider.has_secret = true
  provider.secret_set_at = new Date().toISOString()
  return provider
}
