import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { exportAudit } from '@/api/auditExport'
import { useIndexState } from '@/api/auditTrace'
import { Toasts } from '@/components/Toasts'
import { noFilter, parseFilter } from '@/domain/auditFilter'
import { makeCall } from '../../../test/makeAudit'
import { answer, problem, show, showRouted } from '../../../test/render'
import { CallLane, GapLane } from './CallLane'
import { CompareTab } from './CompareTab'
import { FilterBar, FilterChips } from './FilterBar'
import { IndexNote } from './IndexNote'
import { VerifyButton } from './VerifyButton'
import { WitnessedHead } from './Witnessed'

describe('the filter bar', () => {
  it('gives what was typed when Enter is pressed', async () => {
    answer({})
    const user = userEvent.setup()
    const onFilter = vi.fn()
    await show(<FilterBar filter={noFilter} onFilter={onFilter} sums={false} />)
    await user.type(screen.getByRole('searchbox'), 'kind:refusal push{Enter}')
    expect(onFilter).toHaveBeenCalledWith({ ...noFilter, kind: 'refusal', q: 'push' })
  })

  it('offers no kind where sums know none', async () => {
    answer({})
    await show(<FilterBar filter={noFilter} onFilter={() => undefined} sums />)
    expect(screen.queryByRole('combobox')).toBeNull()
  })

  it('has a chip for each restriction, and says what does not apply', async () => {
    const user = userEvent.setup()
    const onFilter = vi.fn()
    const filter = parseFilter('agent:solo status:odd word')
    await show(<FilterChips filter={filter} onFilter={onFilter} ignored={['q']} />)
    expect(screen.getAllByRole('listitem').length).toBe(3)
    expect(screen.getByText('not a value of this field, not applied')).toBeTruthy()
    expect(screen.getByText('not applied here')).toBeTruthy()
    await user.click(screen.getByRole('button', { name: 'Remove filter agent' }))
    expect(onFilter).toHaveBeenCalledWith({ ...filter, agent: '' })
  })

  it('shows hostile values as text', async () => {
    const filter = { ...noFilter, agent: 'a\u202eb' }
    const { container } = await show(
      <FilterChips filter={filter} onFilter={() => undefined} ignored={[]} />,
    )
    expect(container.textContent).not.toContain('\u202e')
  })
})

describe('a lane of the waterfall', () => {
  it('says in words that and why a request was refused', async () => {
    const call = makeCall({ state: 'refused', gate: 'budget', reason: 'spent', count: 3 })
    const bar = { kind: 'call', call, left: 0.5, width: 0.1 } as const
    await show(<CallLane id="x" bar={bar} active onSelect={() => undefined} />)
    const lane = screen.getByRole('option', { selected: true })
    expect(lane.textContent).toContain('denied')
    expect(lane.textContent).toContain('budget · spent')
    expect(lane.textContent).toContain('×3')
  })

  it('says that an answer is not there yet', async () => {
    const call = makeCall({ state: 'open', outcome: 0 })
    await show(
      <CallLane
        id="x"
        bar={{ kind: 'call', call, left: 0, width: 0 }}
        active={false}
        onSelect={() => undefined}
      />,
    )
    expect(screen.getByRole('option').textContent).toContain('open')
  })

  it('names a time without requests', async () => {
    await show(<GapLane gap={{ kind: 'gap', key: 'g', ms: 65_000, at: 0 }} />)
    expect(screen.getByText('1 min 5 s without a request')).toBeTruthy()
  })
})

/** Shows a word once the state is known. */
function Told() {
  return useIndexState().data === undefined ? null : 'told'
}

describe('the index of the log', () => {
  it.each([
    ['is silent when all can be found', { head: 9, last: 9 }, null],
    [
      'says how far it is',
      { head: 400, last: 1000 },
      'Indexing the log: 400 of 1,000 records can be found',
    ],
    ['names damage', { head: 4, last: 4, problem: 'row 5: hash differs' }, 'row 5: hash differs'],
  ])('%s', async (_name, state, want) => {
    answer({ 'GET /api/audit/index': state })
    const { container } = await show(
      <>
        <IndexNote />
        <Told />
      </>,
    )
    await screen.findByText('told')
    expect(container.textContent).toBe(want === null ? 'told' : `${want}told`)
  })
})

const run = {
  task: 't1',
  template: 'solo',
  agent: 'solo',
  model: 'm',
  began: '2026-03-01T00:00:00Z',
  ended: '2026-03-01T00:00:01Z',
}

describe('two runs', () => {
  const figures = [
    {
      name: 'tokens',
      unit: 'tokens',
      a: 100,
      b: 80,
      delta: -20,
      verdict: 'improved',
      decides: true,
    },
    {
      name: 'cost',
      unit: 'nano_usd',
      a: 0,
      b: 5e9,
      delta: 5e9,
      verdict: 'regressed',
      decides: true,
    },
    { name: 'calls', unit: '', a: 3, b: 3, delta: 0, verdict: '', decides: false },
  ]
  const place = { a: 'r1', b: 'r2' }
  const at = <CompareTab place={place} filter={noFilter} go={() => undefined} />

  it('are compared with change, share and verdict in words', async () => {
    const diff = { a: { ...run, run: 'r1' }, b: { ...run, run: 'r2' }, figures, verdict: 'mixed' }
    answer({ 'GET /api/audit/diff': diff, 'GET /api/audit/facets': { runs: ['r2', 'r1'] } })
    await showRouted(at)
    await screen.findByText('mixed')
    const [tokens, cost, calls] = screen.getAllByRole('row').slice(1)
    expect(tokens?.textContent).toMatch(/−20\(-20 %\)improved/)
    expect(cost?.textContent).toMatch(/\+\$5\.00regressed/)
    expect(calls?.textContent).toContain('±0–')
  })

  it('say why they cannot be', async () => {
    answer({ 'GET /api/audit/diff': problem(404, 'audit_run', 'no such run', 'choose another') })
    await showRouted(at)
    await screen.findByText('no such run')
    expect(screen.getByText('choose another')).toBeTruthy()
  })
})

describe('an export', () => {
  it('carries the bearer in a header, and nothing secret in an address', async () => {
    sessionStorage.setItem('moeca.bearer', 'secret')
    const made = vi.spyOn(URL, 'createObjectURL').mockReturnValue('blob:x')
    vi.spyOn(URL, 'revokeObjectURL').mockReturnValue(undefined)
    const links: string[] = []
    vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (
      this: HTMLAnchorElement,
    ) {
      links.push(`${this.download} ${this.href}`)
    })
    const { calls } = answer({ 'GET /api/audit/export': new Response('{"type":"call"}\n') })
    await exportAudit(noFilter, { format: 'otlp', rows: false, content: false })
    expect(calls.map((call) => call.path)).toEqual(['/api/audit/export'])
    expect(links).toEqual(['moeca-traces.jsonl blob:x'])
    const blob = made.mock.calls[0]?.[0]
    expect(blob instanceof Blob ? await blob.text() : '').toBe('{"type":"call"}\n')
  })

  it('that is refused makes no file', async () => {
    const made = vi.spyOn(URL, 'createObjectURL')
    answer({ 'GET /api/audit/export': problem(503, 'audit_index', 'the disk is full') })
    const work = exportAudit(noFilter, { format: 'jsonl', rows: true, content: false })
    await expect(work).rejects.toThrow('the disk is full')
    expect(made).not.toHaveBeenCalled()
  })
})

describe('a verification', () => {
  const press = async () => {
    const element = (
      <>
        <VerifyButton />
        <Toasts />
      </>
    )
    await show(element)
    await userEvent.click(screen.getByRole('button', { name: 'Verify the log' }))
  }
  it('that nobody answers says so', async () => {
    globalThis.fetch = () => Promise.reject(new TypeError('refused'))
    await press()
    await screen.findByText('The host did not answer. Nothing was changed.')
  })
  it('that is refused says what to do next', async () => {
    answer({ 'POST /api/audit/verify': problem(503, 'gateway', 'no gateway', 'start it again') })
    await press()
    await screen.findByText('no gateway')
    expect(screen.getByText('start it again')).toBeTruthy()
  })
})

describe('witnesses', () => {
  const at = new Date().toISOString()
  const host = { id: 'host', kind: 'host', name: 'this host', at, rows: 9 }
  const repo = { id: 'r', kind: 'repo', name: '/srv/units', at: '2026-01-01T00:00:00Z', rows: 7 }
  it.each([
    ['one outside of the host before the host', [host, repo], /7 records seen by units,/],
    ['the host where nobody else is', [host], /9 records seen by this host, now/],
    ['one record as one', [{ ...host, rows: 1 }], /1 record seen by this host/],
    ['that there is none', [{ ...repo, at: undefined }], /no witness yet/],
    ['who has seen another log', [host, { ...repo, diverged: true }], /units has seen another log/],
  ])('%s', async (_name, items, want) => {
    answer({ 'GET /api/audit/witnesses': { items } })
    const { container } = await show(<WitnessedHead />)
    await waitFor(() => expect(container.textContent).toMatch(want))
  })
})
