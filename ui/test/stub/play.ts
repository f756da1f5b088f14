import type { components } from '../../src/api/schema'
import { oid, type State } from './state'

type Wire = components['schemas']

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A run that says a few hostile and a few ordinary things. */
export async function playRun(state: State, task: Wire['Task']): Promise<void> {
  const run: Wire['Run'] = {
    id: `r-${task.id}`,
    task_id: task.id,
    attempt_id: 'a1',
    status: 'running',
    driver: 'stub',
    stages: [stage()],
    started_at: new Date().toISOString(),
  }
  const attempt: Wire['Attempt'] = {
    id: 'a1',
    task_id: task.id,
    number: 1,
    branch: `moeca/${task.id}-1`,
    base_oid: oid('target'),
    target_oid: oid('target'),
    head_oid: '',
    run,
  }
  state.touch(task, { status: 'running', column: 'working', next_action: '', attempt })
  const lines: Wire['LogLine'][] = []
  state.logs.set(run.id, lines)
  const rules = state.policies.get('demo')?.forbidden ?? []
  if (rules.some((rule) => rule.effect === 'ask')) state.ask(task)
  for (const event of script) {
    await pause(120)
    while (state.asks.length > 0 && run.status === 'running') await pause(50)
    if (run.status === 'stopped') break
    lines.push({
      seq: lines.length + 1,
      stage: 's1',
      at: new Date().toISOString(),
      event: { t: Date.now(), turn: 1, ...event },
    })
    state.row({
      task: task.id,
      run: run.id,
      stage: 's1',
      upstream: 'demo',
      method: 'POST',
      target: '/demo/v1/messages',
      status: 200,
      model: 'scripted-1',
      tokens_in: 812,
      tokens_out: 64,
      scripted: true,
      has_body: true,
    })
    state.emit(`run:${run.id}`, 'run.log', run.id)
  }
  const row = {
    kind: 'refusal',
    task: task.id,
    run: run.id,
    method: 'POST',
    target: '/github/repos/o/r/git/refs',
    gate: 'write',
    reason: 'protected-ref',
    status: 403,
  }
  state.row(row)
  const stopped = run.status === 'stopped'
  run.status = stopped ? 'stopped' : 'done'
  run.ended_at = new Date().toISOString()
  run.stages = [
    { ...stage(), status: run.status, requests: 4, tokens: 3504, ended_at: run.ended_at },
  ]
  attempt.head_oid = oid(`${task.id}head`)
  attempt.summary = 'Added a greeting and a test for it.'
  const repo = state.repos.find((one) => one.id === task.repo_id)
  state.touch(task, {
    status: stopped ? 'stopped' : 'reviewing',
    column: 'needs_you',
    next_action: 'ci',
    added: 5,
    deleted: 1,
    files: 4,
    tokens: 3504,
    ci: repo?.ci === undefined ? 'none' : 'pending',
  })
}

function stage(): Wire['Stage'] {
  return {
    id: 's1',
    name: 'agent',
    kind: 'agent',
    policy: 'base',
    image_digest: `sha256:${oid('image')}`,
    session: 'sess1',
    status: 'running',
    exit_code: 0,
    requests: 0,
    tokens: 0,
    cost_nano: 0,
    started_at: new Date().toISOString(),
  }
}

const script: Partial<Wire['Event']> & { type: string }[] = [
  { type: 'started' },
  { type: 'text', text: 'I look at the tree first. <img src=x onerror=alert(1)>' },
  { type: 'tool_use', id: 'c1', tool: 'list_files', input: { path: '.' } },
  { type: 'tool_result', id: 'c1', text: 'README.md\nmain.go\n' },
  { type: 'thinking', text: 'A greeting is missing.' },
  {
    type: 'tool_use',
    id: 'c2',
    tool: 'write_file',
    input: { path: 'hello.go', content: 'package main\n' },
  },
  {
    type: 'tool_result',
    id: 'c2',
    text: '\u001b[31mnot allowed\u001b[0m \u202egnp.exe',
    error: true,
  },
  { type: 'done', text: 'Added a greeting.' },
] as never

export async function playCI(state: State, task: Wire['Task']): Promise<void> {
  state.touch(task, { ci: 'running' })
  await pause(400)
  state.ci.set(task.id, {
    state: 'passed',
    result_tree: state.resultTree(task),
    target_oid: state.target,
    head: task.attempt?.head_oid ?? '',
    gate_hash: oid('gate'),
    image_digest: `sha256:${oid('image')}`,
    exit_code: 0,
    log: 'ok  \tstub/pkg\t0.1s\n',
    started_at: new Date(Date.now() - 400).toISOString(),
    ended_at: new Date().toISOString(),
  })
  state.row({
    kind: 'ci',
    source: 'host',
    actor: 'host',
    task: task.id,
    result: 'passed',
    subject: task.id,
  })
  state.touch(task, { ci: 'passed', next_action: 'approve' })
}

/** A diff of one task, each file cut at so many lines. */
export function diffOf(state: State, task: string, most: number): Wire['Set'] {
  const set = state.diffs.get(task) ?? smallDiff()
  const files = (set.files ?? []).map((file) => cutFile(file, most))
  return { ...set, files, truncated: files.some((file) => file.truncated) }
}

function cutFile(file: Wire['File'], most: number): Wire['File'] {
  const hunks = (file.hunks ?? []).map((hunk) => ({
    ...hunk,
    lines: (hunk.lines ?? []).slice(0, most),
  }))
  const cut = (file.hunks ?? []).some((hunk) => (hunk.lines ?? []).length > most)
  return { ...file, hunks, truncated: file.truncated || cut }
}

function smallDiff(): Wire['Set'] {
  const base = {
    old_mode: '100644',
    new_mode: '100644',
    old_oid: oid('old'),
    new_oid: oid('new'),
    similarity: 0,
    old_size: 100,
    new_size: 120,
    added: 0,
    deleted: 0,
    hunks: [],
    truncated: false,
    kind: 'text',
    status: 'modified',
  }
  const line = (op: string, text: string, no_eol = false) => ({ op, text, no_eol })
  return {
    from: oid('target'),
    to: oid('head'),
    truncated: false,
    added: 5,
    deleted: 1,
    files: [
      {
        ...base,
        path: 'cmd/hello/main.go',
        added: 3,
        deleted: 1,
        hunks: [
          {
            old_start: 1,
            old_lines: 3,
            new_start: 1,
            new_lines: 5,
            section: 'package main',
            lines: [
              line(' ', 'package main'),
              line('-', 'func main() {}'),
              line('+', 'func main() {'),
              line('+', '\tif user == "admin\u202e" { return }'),
              line('+', '}', true),
            ],
          },
        ],
      },
      {
        ...base,
        path: 'docs/日本語のとても長いファイル名.md',
        old_path: 'docs/old.md',
        status: 'renamed',
        similarity: 100,
      },
      {
        ...base,
        path: 'logo.png',
        kind: 'binary',
        status: 'added',
        old_oid: '0'.repeat(40),
        old_size: 0,
        new_size: 20_480,
      },
      {
        ...base,
        path: 'run.sh',
        new_mode: '100755',
        warnings: ['name-mixed-script', 'control', 'of-tomorrow'],
      },
    ],
  }
}
