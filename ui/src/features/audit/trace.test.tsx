import { fireEvent, screen, waitFor } from '@testing-library/react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { parseFilter } from '@/domain/auditFilter'
import type { AuditPlace } from '@/domain/auditPlace'
import { showRouted } from '../../../test/render'
import { TraceTab } from './TraceTab'

// The tree against a host that answers page by page.

const totals = {
  calls: 1,
  open: 0,
  failed: 0,
  refused: 0,
  unmetered: 0,
  tools: 0,
  tokens_in: 1,
  tokens_out: 1,
  cache_read: 0,
  cache_write: 0,
  reasoning: 0,
  server_tools: 0,
  cost_nano: 0,
  duration_us: 1,
  bytes_in: 1,
  bytes_out: 1,
}
const time = '2026-03-01T00:00:00Z'
const span = { ...totals, first: 1, last: 2, began: time, ended: time, sessions: 1 }
const context = (task: string) => ({ ...span, task, runs: 1, stages: 1 })
const stage = (task: string, name: string) => ({
  ...span,
  task,
  run: 'r',
  stage: name,
  agent: 'solo',
  template: 'solo',
  nodes: [],
})
const extension = 'urn:moeca:a2a:recorded:1'
const message = (id: string) => ({
  messageId: id,
  contextId: '',
  taskId: '',
  role: 'ROLE_AGENT',
  extensions: [extension],
  parts: [{ text: `said ${id}`, metadata: { [extension]: { kind: 'text' } } }],
  metadata: { [extension]: { kind: 'message', seqs: [1] } },
})

type Answer = (query: URLSearchParams) => unknown
const list = (items: unknown[], next = '') => ({ items, next, count: items.length })

/** What the host was asked, as "path?query". */
let asked: string[] = []

function host(routes: Record<string, Answer>): void {
  asked = []
  globalThis.fetch = (async (input: RequestInfo | URL) => {
    const url = new URL(input instanceof Request ? input.url : String(input), 'http://localhost')
    asked.push(`${url.pathname}?${url.searchParams}`)
    const found = routes[url.pathname]?.(url.searchParams)
    if (found instanceof Response) return found.clone()
    return found === undefined ? Response.json({}, { status: 404 }) : Response.json(found)
  }) as typeof fetch
}

const one: Record<string, Answer> = {
  '/api/audit/contexts': () => list([context('t1')]),
  '/api/audit/contexts/t1/stages': () => ({ task: 't1', stages: [stage('t1', 's1')] }),
  '/api/audit/stages/s1/messages': (query) =>
    query.get('after') === ''
      ? { ...list([message('1-answer')], '1-answer'), total: 2 }
      : { ...list([message('3-answer')]), total: 2, problem: 'only the last calls are shown' },
  '/api/audit/calls': () => list([]),
  '/api/audit/index': () => ({ head: 2, last: 2 }),
  '/api/tasks': () => list([]),
}

async function open(place: AuditPlace, q = '') {
  const go = vi.fn()
  await showRouted(<TraceTab place={place} filter={parseFilter(q)} go={go} />)
  return go
}

const kinds = () =>
  screen.getAllByRole('treeitem').map((row) => `${row.dataset.kind} ${row.ariaLevel ?? ''}`.trim())
const texts = () => screen.getAllByRole('treeitem').map((row) => row.textContent ?? '')

beforeEach(() => {
  // A list draws what is in sight: here that is 600 pixels.
  vi.spyOn(HTMLElement.prototype, 'clientHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(300)
})

describe('the tree', () => {
  it('opens what is alone, and reads further pages when their place is in sight', async () => {
    host(one)
    await open({})
    await waitFor(() => expect(kinds().length).toBe(5))
    expect(texts().slice(2)).toEqual([
      expect.stringContaining('said 1-answer'),
      expect.stringContaining('said 3-answer'),
      'only the last calls are shown',
    ])
    expect(asked.filter((url) => url.includes('/messages')).length).toBe(2)
  })

  it('shows a selected task that is on no page yet', async () => {
    host({
      ...one,
      '/api/audit/contexts': (query) =>
        list(query.get('task') === 't9' ? [context('t9')] : [context('t1'), context('t2')]),
      '/api/audit/contexts/t9/stages': () => ({ task: 't9', stages: [] }),
    })
    await open({ task: 't9' })
    await waitFor(() => expect(texts()[0]).toContain('t9'))
    expect(screen.getByRole('treeitem', { selected: true }).textContent).toContain('t9')
    expect(texts()[1]).toBe('nothing here')
  })

  it('is walked, opened and chosen from with keys', async () => {
    host(one)
    const go = await open({})
    await waitFor(() => expect(kinds().length).toBe(5))
    const tree = screen.getByRole('tree')
    const press = (key: string) => fireEvent.keyDown(tree, { key })
    const active = () =>
      document.getElementById(tree.getAttribute('aria-activedescendant') ?? '')?.dataset.kind
    expect(active()).toBe('context')
    press('j')
    press('j')
    expect(active()).toBe('message')
    press('ArrowRight')
    await waitFor(() => expect(screen.getByText('text')).toBeTruthy())
    press('ArrowRight')
    expect(active()).toBe('part')
    press('Enter')
    const at = { task: 't1', run: 'r', stage: 's1', message: '1-answer', part: 1 }
    expect(go).toHaveBeenLastCalledWith(expect.objectContaining(at))
    press('ArrowLeft')
    press('ArrowLeft')
    await waitFor(() => expect(screen.queryByText('text')).toBeNull())
    press('k')
    press('ArrowLeft')
    await waitFor(() => expect(kinds().length).toBe(2))
  })

  it('takes J from anywhere, but not from a field', async () => {
    host(one)
    await open({})
    const tree = await screen.findByRole('tree')
    const field = document.body.appendChild(document.createElement('input'))
    fireEvent.keyDown(field, { key: 'j' })
    expect(document.activeElement).not.toBe(tree)
    fireEvent.keyDown(document.body, { key: 'j' })
    expect(document.activeElement).toBe(tree)
    field.remove()
  })

  it('says on its branch what could not be read, and reads it again', async () => {
    let broken = true
    const stages = () =>
      broken
        ? Response.json({ status: 503, code: 'x', detail: 'the disk is full' }, { status: 503 })
        : { task: 't1', stages: [] }
    host({ ...one, '/api/audit/contexts/t1/stages': stages })
    await open({})
    const row = await screen.findByText(/the disk is full/)
    broken = false
    fireEvent.click(row)
    await screen.findByText('nothing here')
  })

  it('asks for what the filter says, and searches messages for its words', async () => {
    host(one)
    await open({}, 'agent:solo part:thinking "two words"')
    await waitFor(() => expect(asked.some((url) => url.includes('/messages'))).toBe(true))
    const of = (path: string) =>
      new URLSearchParams(asked.find((url) => url.startsWith(path))?.split('?')[1])
    expect(of('/api/audit/contexts?').get('agent')).toBe('solo')
    expect(of('/api/audit/contexts?').get('q')).toBe('two words')
    const messages = of('/api/audit/stages/s1/messages')
    expect([messages.get('part'), messages.get('q')]).toEqual(['thinking', 'two words'])
  })

  it('says where records are that belong to no conversation', async () => {
    host(one)
    const go = await open({}, 'kind:merge')
    fireEvent.click(await screen.findByRole('button', { name: 'Records' }))
    expect(go).toHaveBeenCalledWith({ view: 'rows' })
    expect(asked.some((url) => url.startsWith('/api/audit/contexts'))).toBe(false)
  })
})
