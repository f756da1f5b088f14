import { createHash } from 'node:crypto'
import type { components } from '../../src/api/schema'

// A host in memory, for browser tests of the interface alone. It is as small
// as the interface lets it be, and lives under test/ only.

type Wire = components['schemas']

export const oid = (text: string) => createHash('sha1').update(text).digest('hex')

export class State {
  repos: Wire['Repo'][] = []
  tasks: Wire['Task'][] = []
  audit: Wire['AuditRow'][] = []
  logs = new Map<string, Wire['LogLine'][]>()
  ci = new Map<string, Wire['CI']>()
  approvals = new Map<string, Wire['Approval']>()
  providers: Wire['Provider'][] = [provider('demo', true), provider('anthropic', false)]
  asks: Wire['Ask'][] = []
  sessions: Wire['LiveSession'][] = [
    {
      id: 's1',
      program: true,
      service: false,
      name: 'a script of mine with a rather long name',
      reach: ['anthropic'],
      grants: ['web-search', 'beta:something-new'],
      repos: [],
      budget: { tokens: 1_000_000 },
      spent: { tokens: 250_000, cost_nano: 1_250_000_000 },
      unattended: true,
      minted_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 3_000_000).toISOString(),
    },
  ]
  policies = new Map<string, Wire['Policy']>()
  budgets: Wire['BudgetState'][] = [budget('day', ''), budget('provider', 'anthropic')]
  prices: Wire['Price'][] = [
    {
      kind: 'anthropic',
      model: 'large-1',
      input: '3',
      output: '15',
      source: 'https://models.example/prices',
      read: '2026-01-31',
    },
  ]
  /** How many days contents are kept; 0 is for ever. */
  retention = 0
  witnesses: Wire['Witness'][] = [
    { id: 'file:/mnt/list', kind: 'file', name: '/mnt/list', at: '2026-03-01T00:00:00Z', rows: 1 },
    { id: 'repo:r1', kind: 'repo', name: 'hello', rows: 0 },
  ]
  /** Rows whose contents are erased. */
  erased = new Set<number>()
  listeners = new Set<(change: Wire['Change']) => void>()
  diffs = new Map<string, Wire['Set']>()
  /** Where every target stands; another name moves them all. */
  target = oid('target')
  private seq = 0

  emit(topic: string, kind: string, id: string): void {
    const change = { seq: ++this.seq, topic, kind, id }
    for (const tell of this.listeners) tell(change)
  }

  touch(task: Wire['Task'], over: Partial<Wire['Task']>): void {
    Object.assign(task, over, { updated_at: new Date().toISOString(), version: task.version + 1 })
    this.emit('tasks', 'task.changed', task.id)
  }

  row(over: Partial<Wire['AuditRow']>): number {
    const seq = this.audit.length + 1
    this.audit.push({
      seq,
      time: new Date().toISOString(),
      hash: oid(`row${seq}`).padEnd(64, '0'),
      prev: oid(`row${seq - 1}`).padEnd(64, '0'),
      kind: 'intent',
      source: 'gateway',
      actor: 'agent',
      bytes_in: 0,
      bytes_out: 0,
      duration_us: 0,
      tokens_in: 0,
      tokens_out: 0,
      cost_nano: 0,
      scripted: false,
      has_body: false,
      partial: false,
      ...over,
    })
    return seq
  }

  policyOf(name: string): Wire['ProviderPolicy'] {
    return { policy: this.policies.get(name) ?? {}, shipped: shipped() }
  }

  setPolicy(name: string, patch: Wire['PolicyPatch']): Wire['ProviderPolicy'] {
    this.policies.set(name, { ...this.policies.get(name), ...patch })
    return this.policyOf(name)
  }

  /** A request of a task that waits, as a rule of a policy makes it. */
  ask(task: Wire['Task']): Wire['Ask'] {
    const one: Wire['Ask'] = {
      id: `k${this.asks.length + 1}`,
      session: 'sess1',
      task: task.id,
      agent: 'solo',
      upstream: 'hub',
      method: 'POST',
      target: 'https://api.github.com/repos/owner/name/git/refs',
      operations: ['github.create-branch'],
      refs: ['refs/heads/moeca/\u202egnp.exe'],
      body: '{"ref":"refs/heads/moeca/x"}',
      body_bytes: 28,
      rule: { operation: 'github.create-branch' },
      asked_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 600_000).toISOString(),
    }
    this.asks.push(one)
    const cause = `the agent wants to ${one.operations?.join(', ')} at hub; allow or refuse`
    this.touch(task, { status: 'waiting', column: 'needs_you', cause, next_action: 'answer' })
    this.emit('asks', 'ask.opened', one.id)
    return one
  }

  answerAsk(id: string, { allow }: { allow: boolean }): Wire['AskAnswered'] {
    const one = this.asks.find((ask) => ask.id === id)
    this.asks = this.asks.filter((ask) => ask.id !== id)
    const task = this.tasks.find((found) => found.id === one?.task)
    if (task !== undefined) {
      this.touch(task, { status: 'running', column: 'working', cause: '', next_action: '' })
    }
    this.emit('asks', 'ask.ended', id)
    return { id, allow, seq: this.row({ kind: 'admin', actor: 'person', subject: id }) }
  }

  setBudget({ scope, id = '', budget: limit }: Wire['BudgetPut']): Wire['BudgetState'][] {
    const found = this.budgets.find((one) => one.scope === scope && (one.id ?? '') === id)
    const row = found ?? budget(scope, id)
    if (found === undefined) this.budgets.push(row)
    row.limit = limit
    return this.budgets
  }

  moveTarget(): void {
    this.target = oid(`${this.target} and on`)
    for (const task of this.tasks) this.emit('tasks', 'task.changed', task.id)
  }

  resultTree(task: Wire['Task']): string {
    return oid(`${task.id}tree${this.target}`)
  }

  review(task: Wire['Task']): Wire['Review'] {
    const none: Wire['CI'] = { state: task.ci, exit_code: 0 }
    const ci = this.ci.get(task.id) ?? none
    const blockers: Wire['Blocker'][] = []
    if (task.ci === 'pending')
      blockers.push({ code: 'ci_pending', message: 'the CI gate has not run' })
    if (task.ci === 'running')
      blockers.push({ code: 'ci_running', message: 'the CI gate is running' })
    const acks = task.ci === 'none' ? ['no_ci'] : []
    const approval = this.approvals.get(task.id)
    const statement = approval?.statement as { target_oid: string } | undefined
    const stale = statement !== undefined && statement.target_oid !== this.target
    return {
      task_id: task.id,
      preview: {
        target: task.target,
        target_oid: this.target,
        head: task.attempt?.head_oid ?? '',
        merge_base: oid('target'),
        result_tree: this.resultTree(task),
        ahead: 1,
        behind: 0,
        up_to_date: false,
      },
      ci,
      ...(approval === undefined || stale ? {} : { approval }),
      ...(stale
        ? {
            approval_stale: true,
            approval_stale_reason: 'the target changed after it was approved',
          }
        : {}),
      can_approve: blockers.length === 0,
      blockers,
      needs_acks: acks,
      base_moved: false,
      checked_out: true,
      log_head: this.audit.at(-1)?.hash ?? '',
      truncated: [],
    }
  }
}

function shipped(): Wire['Shipped'] {
  return {
    kind: 'github',
    operations: [
      { name: 'github.read', read: true, permitted: true, routes: ['GET /repos/*/*/**'] },
      { name: 'github.create-branch', read: false, permitted: true, routes: ['POST /x'] },
      { name: 'github.review', read: false, permitted: false, routes: ['POST /y'] },
      { name: 'github.of-tomorrow', read: false, permitted: false, routes: [] },
    ],
    never: [{ what: 'merging a pull request', why: 'merging is for a person' }],
    branch_prefixes: ['moeca/'],
    protected_refs: ['main', 'master', 'develop'],
  }
}

function budget(scope: string, id: string): Wire['BudgetState'] {
  return {
    scope,
    ...(id === '' ? {} : { id }),
    day: '2030-01-01',
    limit: { tokens: 3_000_000 },
    spent: { tokens: 2_400_000, cost_nano: 7_250_000_000 },
    reserved: { tokens: 120_000 },
  }
}

function provider(name: string, scripted: boolean): Wire['Provider'] {
  return {
    name,
    kind: 'anthropic',
    base_url: scripted ? 'unix:' : 'https://models.example',
    models: scripted ? ['scripted-1'] : ['large-1', 'small-1'],
    auth_header: 'x-api-key',
    auth_prefix: '',
    auth_scheme: '',
    auth_region: '',
    auth_service: '',
    git_url: '',
    hosts: [],
    local: false,
    needs_key: !scripted,
    scripted,
    built_in: true,
    runnable: true,
    has_secret: scripted,
  }
}
