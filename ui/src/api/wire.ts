import { limitOf } from '@/domain/limit'
import {
  type Approval,
  type Approved,
  type Attempt,
  type CI,
  ciStates,
  columns,
  type Gate,
  oneOf,
  type Repo,
  type RepoId,
  type Review,
  type Run,
  type RunId,
  type Stage,
  statuses,
  type Task,
  type TaskId,
} from '@/domain/model'
import type { components } from './schema'

// The boundary: wire shapes in, domain values out. This file alone casts, and
// only strings into branded ids.

type Wire = components['schemas']

const when = (text: string | undefined | null): Date | null => (text ? new Date(text) : null)
const at = (text: string): Date => new Date(text)

function toGate(wire: Wire['Gate']): Gate {
  return { policy: wire.policy, argv: wire.argv ?? [], timeoutSeconds: wire.timeout_seconds }
}

export function toRepo(wire: Wire['Repo']): Repo {
  return {
    id: wire.id as RepoId,
    name: wire.name,
    path: wire.path,
    target: wire.target,
    ci: wire.ci ? toGate(wire.ci) : null,
    branches: wire.branches ?? [],
    problem: wire.problem ?? '',
  }
}

function toStage(wire: Wire['Stage']): Stage {
  return {
    id: wire.id,
    name: wire.name,
    kind: wire.kind,
    policy: wire.policy,
    digest: wire.image_digest,
    session: wire.session,
    status: oneOf(statuses, wire.status, 'failed'),
    cause: wire.cause ?? '',
    exitCode: wire.exit_code,
    requests: wire.requests,
    tokens: wire.tokens,
    cost: wire.cost_nano,
    started: when(wire.started_at),
    ended: when(wire.ended_at),
  }
}

function toRun(wire: Wire['Run']): Run {
  return {
    id: wire.id as RunId,
    status: oneOf(statuses, wire.status, 'failed'),
    cause: wire.cause ?? '',
    driver: wire.driver,
    stages: (wire.stages ?? []).map(toStage),
    started: when(wire.started_at),
    ended: when(wire.ended_at),
  }
}

function toAttempt(wire: Wire['Attempt']): Attempt {
  return {
    id: wire.id,
    number: wire.number,
    branch: wire.branch,
    base: wire.base_oid,
    head: wire.head_oid,
    run: wire.run ? toRun(wire.run) : null,
    summary: wire.summary ?? '',
    skipped: (wire.skipped ?? []).map(({ path, reason }) => ({ path, reason })),
  }
}

export function toTask(wire: Wire['Task']): Task {
  return {
    id: wire.id as TaskId,
    number: wire.number,
    repoId: wire.repo_id as RepoId,
    repoName: wire.repo_name,
    title: wire.title,
    detail: wire.detail,
    base: wire.base,
    target: wire.target,
    template: wire.template,
    provider: wire.provider,
    model: wire.model,
    scripted: wire.scripted,
    status: oneOf(statuses, wire.status, 'failed'),
    column: oneOf(columns, wire.column, 'needs_you'),
    cause: wire.cause ?? '',
    next: wire.next_action ?? '',
    attempt: wire.attempt ? toAttempt(wire.attempt) : null,
    added: wire.added,
    deleted: wire.deleted,
    files: wire.files,
    ci: oneOf(ciStates, wire.ci, 'error'),
    tokens: wire.tokens,
    cost: wire.cost_nano,
    reach: wire.reach ?? [],
    budget: limitOf(wire.budget),
    runBudget: limitOf(wire.run_budget),
    version: wire.version,
    created: at(wire.created_at),
    updated: at(wire.updated_at),
  }
}

function toCI(wire: Wire['CI']): CI {
  return {
    state: oneOf(ciStates, wire.state, 'error'),
    resultTree: wire.result_tree ?? '',
    targetOid: wire.target_oid ?? '',
    head: wire.head ?? '',
    gateHash: wire.gate_hash ?? '',
    digest: wire.image_digest ?? '',
    exitCode: wire.exit_code,
    cause: wire.cause ?? '',
    changed: wire.changed_gate_files ?? [],
    log: wire.log ?? '',
    logCut: wire.log_truncated ?? false,
    started: when(wire.started_at),
    ended: when(wire.ended_at),
  }
}

/** The signed statement is JSON of its own; what is not there stays empty. */
function toApproval(wire: Wire['Approval']): Approval {
  const source = wire.statement
  const text = (key: string): string => {
    const value: unknown =
      typeof source === 'object' && source !== null ? Reflect.get(source, key) : ''
    return typeof value === 'string' ? value : ''
  }
  return {
    id: wire.id,
    seq: wire.audit_seq,
    at: at(wire.at),
    bound: {
      head: text('head'),
      target: text('target'),
      targetOid: text('target_oid'),
      resultTree: text('result_tree'),
      gateHash: text('gate_hash'),
      ciState: oneOf(ciStates, text('ci_state'), 'none'),
      logHead: text('log_head'),
    },
  }
}

export function toApproved(
  wire: Pick<Wire['Review'], 'approval' | 'approval_stale' | 'approval_stale_reason'>,
): Approved {
  if (wire.approval_stale) return { state: 'stale', reason: wire.approval_stale_reason ?? '' }
  return wire.approval ? { state: 'holds', approval: toApproval(wire.approval) } : { state: 'none' }
}

export function toReview(wire: Wire['Review']): Review {
  const preview = wire.preview
  return {
    preview: {
      target: preview.target,
      targetOid: preview.target_oid,
      head: preview.head,
      mergeBase: preview.merge_base,
      resultTree: preview.result_tree,
      ahead: preview.ahead,
      behind: preview.behind,
      conflicts: (preview.conflicts ?? []).map(({ path, kinds }) => ({ path, kinds: kinds ?? [] })),
      upToDate: preview.up_to_date,
    },
    ci: toCI(wire.ci),
    approved: toApproved(wire),
    canApprove: wire.can_approve,
    blockers: (wire.blockers ?? []).map(({ code, message }) => ({ code, message })),
    acks: wire.needs_acks ?? [],
    baseMoved: wire.base_moved,
    checkedOut: wire.checked_out,
    logHead: wire.log_head,
    truncated: wire.truncated ?? [],
  }
}
