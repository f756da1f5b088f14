import type { components } from '../../src/api/schema'
import { oid, type State } from './state'

type Wire = components['schemas']
type Task = Wire['Task']

const titles = [
  'Rename the configuration loader and everything that imports it, including documentation, tests and the generated client, without changing behaviour',
  '設定画面の言語切り替えで選択した言語が再読み込み後に失われる不具合を修正し、回帰テストを追加して変更履歴にも記載する作業を行う',
  'Fix it',
  '修复在网络断开后任务列表不会自动刷新的问题并补充端到端测试以及相应的文档说明',
]

const places = [
  { status: 'draft', column: 'inbox' },
  { status: 'running', column: 'working' },
  { status: 'failed', column: 'needs_you' },
  { status: 'done', column: 'done' },
]

/** Many tasks, a quarter in each column, with the longest titles people write. */
export function addTasks(state: State, count: number): void {
  if (state.repos.length === 0) {
    const created_at = new Date().toISOString()
    state.repos.push({
      id: 'bulk',
      name: 'a-repository-with-quite-a-long-name-indeed',
      path: '/srv/bulk',
      target: 'main',
      branches: ['main'],
      created_at,
    })
  }
  for (let at = 0; at < count; at++) {
    const number = state.tasks.length + 1
    const place = places[at % 4]
    const time = new Date(Date.now() - number * 60_000).toISOString()
    const task: Task = {
      id: `b${number}`,
      number,
      repo_id: 'bulk',
      repo_name: 'a-repository-with-quite-a-long-name-indeed',
      title: titles[at % titles.length] ?? '',
      detail: '',
      base: 'main',
      target: 'main',
      template: 'solo',
      provider: 'demo',
      model: 'scripted-1',
      scripted: true,
      status: place?.status ?? 'draft',
      column: place?.column ?? 'inbox',
      cause: place?.status === 'failed' ? 'the model could not be reached: connection refused' : '',
      added: number * 3,
      deleted: number,
      files: 2,
      ci: 'none',
      tokens: number * 1000,
      cost_nano: 0,
      reach: [],
      version: 1,
      created_at: time,
      updated_at: time,
    }
    state.tasks.push(task)
    if (count < 100) state.emit('tasks', 'task.changed', task.id)
  }
}

/** One task in review, with a diff of its own where one is given. */
export function addReviewed(state: State, set?: Wire['Set']): Task {
  addTasks(state, 1)
  const task = state.tasks.at(-1)
  if (task === undefined) throw new Error('stub: no task')
  const attempt = {
    id: `a-${task.id}`,
    task_id: task.id,
    number: 1,
    branch: `moeca/${task.id}-1`,
    base_oid: oid('target'),
    target_oid: oid('target'),
    head_oid: oid(`${task.id}head`),
    summary: 'Done, with a summary that says more than anybody wants to read at once.',
  }
  const files = set?.files?.length ?? 4
  state.touch(task, { status: 'reviewing', column: 'needs_you', attempt, files })
  if (set !== undefined) state.diffs.set(task.id, set)
  return task
}

const blankFile = {
  kind: 'text',
  old_mode: '',
  new_mode: '100644',
  old_oid: '0'.repeat(40),
  similarity: 0,
  old_size: 0,
  new_size: 2,
  truncated: false,
}

function addedFile(path: string, count: number): Wire['File'] {
  const lines = Array.from({ length: count }, (_, at) => ({ op: '+', text: `line ${at}` }))
  const hunk = { old_start: 0, old_lines: 0, new_start: 1, new_lines: count, lines }
  return {
    ...blankFile,
    path,
    status: 'added',
    new_oid: oid(path),
    added: count,
    deleted: 0,
    hunks: [hunk],
  }
}

/** So many new files of one line, a hundred in each folder. */
export function manyFiles(count: number): Wire['Set'] {
  const files = Array.from({ length: count }, (_, at) => {
    const folder = String(Math.floor(at / 100)).padStart(4, '0')
    return addedFile(`src/part${folder}/file${String(at).padStart(5, '0')}.txt`, 1)
  })
  return { from: oid('a'), to: oid('b'), files, truncated: false, added: count, deleted: 0 }
}

/** One new file of so many lines. */
export function longFile(lines: number): Wire['Set'] {
  const files = [addedFile('big.txt', lines)]
  return { from: oid('a'), to: oid('b'), files, truncated: false, added: lines, deleted: 0 }
}
