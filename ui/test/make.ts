import { columnOf } from '../src/domain/column'
import type { DiffFile } from '../src/domain/diff'
import { noLimit } from '../src/domain/limit'
import type { Attempt, RepoId, Review, Task, TaskId } from '../src/domain/model'

// Objects for tests: whole, valid, and different only in what a test names.

export function makeTask(
  over: Partial<Omit<Task, 'id'>> & { id?: string },
  attempt?: Partial<Attempt>,
): Task {
  const status = over.status ?? 'draft'
  return {
    repoId: 'r1' as RepoId,
    repoName: 'repo',
    number: 1,
    title: 'A task',
    detail: '',
    base: 'main',
    target: 'main',
    template: 'solo',
    provider: 'demo',
    model: 'scripted-1',
    scripted: true,
    column: columnOf(status),
    cause: '',
    next: '',
    attempt: attempt === undefined ? null : { ...emptyAttempt, ...attempt },
    added: 0,
    deleted: 0,
    files: 0,
    ci: 'pending',
    tokens: 0,
    cost: 0,
    reach: [],
    budget: noLimit,
    runBudget: noLimit,
    version: 1,
    created: new Date(0),
    updated: new Date(0),
    ...over,
    status,
    id: (over.id ?? 't1') as TaskId,
  }
}

const emptyAttempt: Attempt = {
  id: 'a1',
  number: 1,
  branch: 'moeca/t1-1',
  base: '',
  head: '',
  run: null,
  summary: '',
  skipped: [],
}

export function makeReview(over: Partial<Review>): Review {
  return {
    preview: {
      target: 'main',
      targetOid: 'a'.repeat(40),
      head: 'b'.repeat(40),
      mergeBase: 'a'.repeat(40),
      resultTree: 'c'.repeat(40),
      ahead: 1,
      behind: 0,
      conflicts: [],
      upToDate: false,
    },
    ci: {
      state: 'passed',
      resultTree: 'c'.repeat(40),
      targetOid: 'a'.repeat(40),
      head: 'b'.repeat(40),
      gateHash: 'd'.repeat(64),
      digest: 'sha256:e',
      exitCode: 0,
      cause: '',
      changed: [],
      log: '',
      logCut: false,
      started: null,
      ended: null,
    },
    approved: { state: 'none' },
    canApprove: true,
    blockers: [],
    acks: [],
    baseMoved: false,
    checkedOut: false,
    logHead: 'f'.repeat(64),
    truncated: [],
    ...over,
  }
}

export function makeFile(over: Partial<DiffFile>): DiffFile {
  return {
    path: 'file.go',
    oldPath: '',
    status: 'modified',
    kind: 'text',
    oldMode: '100644',
    newMode: '100644',
    oldOid: 'a'.repeat(40),
    newOid: 'b'.repeat(40),
    oldSize: 1,
    newSize: 2,
    similarity: 0,
    added: 0,
    deleted: 0,
    hunks: [],
    truncated: false,
    warnings: [],
    ...over,
  }
}
