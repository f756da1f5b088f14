import { QueryClient } from '@tanstack/react-query'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Task } from '@/domain/model'
import { makeTask } from '../../test/make'
import { answer } from '../../test/render'
import { asksKey } from './asks'
import { CacheFeed } from './events'
import { tasksKey } from './tasks'
import { auditHeadKey } from './verify'

const change = (topic: string, kind: string, id: string) => ({
  id: '1',
  event: 'change',
  data: JSON.stringify({ seq: 1, topic, kind, id }),
})

function wire(id: string, title: string) {
  const time = new Date(0).toISOString()
  return {
    id,
    title,
    repo_id: 'r1',
    status: 'running',
    column: 'working',
    created_at: time,
    updated_at: time,
  }
}

describe('the stream feeds the cache', () => {
  let queries: QueryClient
  let feed: CacheFeed
  const titles = () => queries.getQueryData<Task[]>(tasksKey)?.map((task) => task.title)

  beforeEach(() => {
    vi.useFakeTimers()
    queries = new QueryClient({ defaultOptions: { queries: { gcTime: Number.POSITIVE_INFINITY } } })
    feed = new CacheFeed(queries)
    queries.setQueryData(tasksKey, [
      makeTask({ id: 'a', title: 'old' }),
      makeTask({ id: 'b', title: 'b' }),
    ])
    return () => {
      vi.useRealTimers()
    }
  })

  it('reads a changed task once, however often it is named', async () => {
    const { calls } = answer({ 'GET /api/tasks/a': wire('a', 'new') })
    for (let times = 0; times < 5; times++) feed.take(change('tasks', 'task.changed', 'a'))
    await vi.advanceTimersByTimeAsync(200)
    await vi.waitFor(() => expect(titles()).toEqual(['new', 'b']))
    expect(calls.filter((call) => call.path === '/api/tasks/a')).toHaveLength(1)
  })

  it('tells how far a verification is, and reads nothing for it', async () => {
    queries.setQueryData(auditHeadKey, { head: 1, last: 1, problem: '' })
    feed.take(change('audit', 'verify', '2000'))
    feed.take(change('audit', 'verify', 'nonsense'))
    await vi.advanceTimersByTimeAsync(200)
    expect(queries.getQueryData(['audit', 'reached'])).toBe(2000)
    expect(queries.getQueryState(auditHeadKey)?.isInvalidated).toBe(false)
  })

  it('asks how long the log is, once, when rows came', async () => {
    queries.setQueryData(auditHeadKey, { head: 1, last: 1, problem: '' })
    queries.setQueryData(['audit', 'growing', 'rows'], [])
    for (let head = 2; head < 9; head++) feed.take(change('audit', 'head', `${head}`))
    await vi.advanceTimersByTimeAsync(200)
    expect(queries.getQueryState(auditHeadKey)?.isInvalidated).toBe(true)
    // What is shown stays until somebody asks for it, or follows it.
    expect(queries.getQueryState(['audit', 'growing', 'rows'])?.isInvalidated).toBe(false)
  })

  it('takes up a task it did not know', async () => {
    answer({ 'GET /api/tasks/c': wire('c', 'c') })
    feed.take(change('tasks', 'task.changed', 'c'))
    await vi.advanceTimersByTimeAsync(200)
    await vi.waitFor(() => expect(titles()).toEqual(['c', 'old', 'b']))
  })

  it('drops a removed task', async () => {
    feed.take(change('tasks', 'task.removed', 'a'))
    await vi.advanceTimersByTimeAsync(200)
    expect(titles()).toEqual(['b'])
  })

  it('reads what waits for a person when a request begins or ends to wait', async () => {
    const some = vi.spyOn(queries, 'invalidateQueries')
    feed.take(change('asks', 'ask.opened', 'k1'))
    await vi.advanceTimersByTimeAsync(200)
    expect(some).toHaveBeenCalledWith({ queryKey: asksKey })
  })

  it('reads everything again when events were lost', async () => {
    const all = vi.spyOn(queries, 'invalidateQueries')
    feed.take({ id: '9', event: 'resync', data: '{"last":9}' })
    await vi.advanceTimersByTimeAsync(200)
    expect(all).toHaveBeenCalledWith()
  })

  it.each(['', 'null', '{', '[]', '{"topic":5}'])('is not broken by %j', async (data) => {
    feed.take({ id: '1', event: 'change', data })
    await vi.advanceTimersByTimeAsync(200)
    expect(titles()).toEqual(['old', 'b'])
  })
})
