import type { QueryClient } from '@tanstack/react-query'
import type { RunId, Task, TaskId } from '@/domain/model'
import { EventStreamParser, type ServerEvent } from '@/domain/sse'
import { asksKey } from './asks'
import { setReachable, touch } from './contact'
import { reposKey } from './repos'
import { logKey } from './runs'
import { markDead, token } from './session'
import { statusKey } from './status'
import { forgetTask, refreshTask, tasksKey } from './tasks'
import { auditHeadKey, setReached } from './verify'

// One stream per window feeds the query cache. An event only names what
// changed; the object itself is read again, so a lost or repeated event can
// make the window late, never wrong.

type Change = { topic: string; kind: string; id: string }

function parseChange(data: string): Change | null {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value !== 'object' || value === null) return null
    const [topic, kind, id] = ['topic', 'kind', 'id'].map((key) => String(Reflect.get(value, key)))
    return { topic: topic ?? '', kind: kind ?? '', id: id ?? '' }
  } catch {
    return null
  }
}

/** Applies events; bursts for one object become one read. */
export class CacheFeed {
  private readonly pending = new Map<string, () => void>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly queries: QueryClient,
    private readonly delay = 80,
  ) {}

  take(event: ServerEvent): void {
    if (event.event === 'resync') {
      this.later('all', () => void this.queries.invalidateQueries())
      return
    }
    if (event.event !== 'change') return
    const change = parseChange(event.data)
    if (change !== null) this.change(change)
  }

  private change({ topic, kind, id }: Change): void {
    const queries = this.queries
    if (topic.startsWith('run:')) {
      this.run(topic.slice(4) as RunId, kind)
      return
    }
    switch (kind) {
      case 'verify':
        setReached(queries, Number(id))
        return
      case 'task.changed':
        this.later(id, () => void refreshTask(queries, id as TaskId))
        break
      case 'task.removed':
        this.later(id, () => forgetTask(queries, id as TaskId))
        break
      default:
        if (topic === 'asks') {
          this.later(topic, () => void queries.invalidateQueries({ queryKey: asksKey }))
        }
        if (topic === 'audit') {
          this.later(topic, () => void queries.invalidateQueries({ queryKey: auditHeadKey }))
        }
        if (topic === 'repos') {
          this.later(topic, () => void queries.invalidateQueries({ queryKey: reposKey }))
        }
    }
    this.later('status', () => void queries.invalidateQueries({ queryKey: statusKey }))
  }

  private run(run: RunId, kind: string): void {
    const queries = this.queries
    this.later(`log:${run}`, () => void queries.invalidateQueries({ queryKey: logKey(run) }))
    if (kind === 'run.log') return
    const tasks = queries.getQueryData<Task[]>(tasksKey) ?? []
    const owner = tasks.find((task) => task.attempt?.run?.id === run)
    if (owner !== undefined) this.later(owner.id, () => void refreshTask(queries, owner.id))
  }

  private later(key: string, work: () => void): void {
    this.pending.set(key, work)
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      const work = [...this.pending.values()]
      this.pending.clear()
      for (const run of work) run()
    }, this.delay)
  }
}

export type Stream = { close(): void }

/** Keeps the stream open until closed; resumes where it broke off. */
export function openStream(feed: CacheFeed, onOnline: (online: boolean) => void): Stream {
  const abort = new AbortController()
  void loop(feed, onOnline, abort.signal)
  return { close: () => abort.abort() }
}

async function loop(
  feed: CacheFeed,
  onOnline: (online: boolean) => void,
  signal: AbortSignal,
): Promise<void> {
  let last = ''
  let wait = 250
  let first = true
  while (!signal.aborted) {
    try {
      for await (const event of events(last, signal)) {
        if (event.id !== '' && event.id !== '0') last = event.id
        if (wait !== 0) {
          setReachable(true)
          onOnline(true)
          if (!first && last === '') feed.take({ id: '', event: 'resync', data: '{}' })
          first = false
          wait = 0
        }
        touch()
        feed.take(event)
      }
    } catch {
      // Broken off or refused; tried again below.
    }
    if (signal.aborted || token() === null) return
    setReachable(false)
    onOnline(false)
    wait = Math.min(Math.max(250, wait * 2), 5000)
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

async function* events(last: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token() ?? ''}` }
  if (last !== '') headers['Last-Event-ID'] = last
  const response = await fetch('/api/events', { headers, signal })
  if (response.status === 401) markDead()
  if (!response.ok || response.body === null) throw new Error('no stream')
  const parser = new EventStreamParser()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    yield* parser.feed(value)
  }
}
