import type { Column, Status, Task } from './model'

/** Where a status stands on the board: one table for host and interface. */
export function columnOf(status: Status): Column {
  switch (status) {
    case 'draft':
      return 'inbox'
    case 'queued':
    case 'preparing':
    case 'running':
      return 'working'
    case 'waiting':
    case 'reviewing':
    case 'failed':
    case 'stopped':
      return 'needs_you'
    case 'merging':
    case 'done':
    case 'cancelled':
    case 'skipped':
    case 'reused':
      return 'done'
  }
}

export type Tone = 'plain' | 'blue' | 'amber' | 'green' | 'red'

export function statusTone(status: Status): Tone {
  switch (status) {
    case 'queued':
    case 'preparing':
    case 'running':
    case 'merging':
      return 'blue'
    case 'waiting':
    case 'reviewing':
      return 'amber'
    case 'done':
      return 'green'
    case 'failed':
      return 'red'
    case 'draft':
    case 'stopped':
    case 'cancelled':
    case 'skipped':
    case 'reused':
      return 'plain'
  }
}

/** A run is under way; one that waits for an answer is held, not over. */
export function isLive(status: Status): boolean {
  return columnOf(status) === 'working' || status === 'waiting'
}

/** Newest first within a column; equal times fall back to the id. */
export function byColumn(tasks: readonly Task[]): Record<Column, Task[]> {
  const out: Record<Column, Task[]> = { inbox: [], working: [], needs_you: [], done: [] }
  for (const task of tasks) out[task.column].push(task)
  for (const list of Object.values(out)) {
    list.sort((a, b) => b.updated.getTime() - a.updated.getTime() || (a.id < b.id ? -1 : 1))
  }
  return out
}

/**
 * Filter words are joined by "and"; `status:failed`, `ci:passed` and
 * `repo:name` narrow by field, every other word must be in the title, the id
 * or the repository's name.
 */
export function matches(task: Task, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  return words.every((word) => {
    const colon = word.indexOf(':')
    const field = colon > 0 ? word.slice(0, colon) : ''
    const value = word.slice(colon + 1)
    if (field === 'status') return task.status === value
    if (field === 'ci') return task.ci === value
    if (field === 'repo') return task.repoName.toLowerCase().includes(value)
    return `#${task.number} ${task.title} ${task.id} ${task.repoName}`.toLowerCase().includes(word)
  })
}
