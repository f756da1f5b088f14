import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { answer, showRouted } from '../../../test/render'
import { MessageDetail } from './MessageDetail'

const extension = 'urn:moeca:a2a:recorded:1'
const stage = { task: 't1', run: 'r1', stage: 's1' }

const part = (info: object, content: object) => ({ ...content, metadata: { [extension]: info } })

function message(info: object, parts: object[], attempt: object = {}) {
  return {
    messageId: '7-answer',
    contextId: 't1',
    taskId: 'r1/s1',
    role: 'ROLE_AGENT',
    extensions: [extension],
    parts,
    metadata: {
      [extension]: {
        kind: 'message',
        seqs: [7, 8],
        time: '2026-03-01T00:00:00Z',
        attempts: [{ seq: 7, outcomeSeq: 8, status: 200, result: 'ok', ...attempt }],
        ...info,
      },
    },
  }
}

const at = '/api/audit/stages/s1/messages'

function row(seq: number) {
  return {
    seq,
    time: '2026-03-01T00:00:00Z',
    hash: `hash-${seq}`,
    prev: `hash-${seq - 1}`,
    kind: 'intent',
    source: 'gateway',
    actor: 'agent',
    gate: 'budget',
    reason: 'spent',
    bytes_in: 0,
    bytes_out: 0,
    duration_us: 0,
    tokens_in: 0,
    tokens_out: 0,
    scripted: false,
    has_body: true,
    partial: true,
  }
}

async function open(wire: object, more: Record<string, unknown> = {}) {
  const host = answer({ [`GET ${at}/7-answer`]: wire, ...more })
  const shown = await showRouted(
    <MessageDetail stage={stage} id="7-answer" part={0} seq={0} go={() => undefined} />,
  )
  await screen.findByRole('heading', { level: 2 })
  return { ...shown, ...host }
}

describe('a message', () => {
  it('tells thinking, text, a call and its result apart, in words', async () => {
    const { container } = await open(
      message({}, [
        part({ kind: 'thinking' }, { text: 'hm' }),
        part({ kind: 'text' }, { text: 'I read it.' }),
        part(
          { kind: 'tool-use', id: 'u', name: 'read_file', link: '9-1' },
          { data: { path: 'a' } },
        ),
      ]),
      {
        [`GET ${at}/9-1`]: message({}, [
          part({ kind: 'tool-result', id: 'other' }, { text: 'not this' }),
          part({ kind: 'tool-result', id: 'u', error: true }, { text: 'no such file' }),
        ]),
      },
    )
    const kinds = [...container.querySelectorAll('[data-part]')].map((one) =>
      one.getAttribute('data-part'),
    )
    expect(kinds).toEqual(['thinking', 'text', 'tool-use'])
    for (const word of ['thinking', 'text', 'tool call'])
      expect(screen.getByRole('heading', { name: new RegExp(`^${word}`) })).toBeTruthy()
    await screen.findByText('no such file')
    expect(screen.queryByText('not this')).toBeNull()
    expect(screen.getByText('failed')).toBeTruthy()
  })

  it('makes no element and no request of what an agent wrote', async () => {
    const text = '<img src=x onerror=alert(1)> ![](https://evil.example/p.png) \u202efdp\u001b]8;;x'
    const { container, calls } = await open(
      message({}, [
        part({ kind: 'text' }, { text }),
        part({ kind: 'tool-use', name: text }, { data: { [text]: text } }),
        part({ kind: 'file' }, { url: 'https://evil.example/p.png', mediaType: 'image/png' }),
        part({ kind: 'file' }, { raw: 'PHN2Zz4=', mediaType: text }),
      ]),
    )
    expect(container.querySelector('img, script, iframe, style, object, video')).toBeNull()
    expect(container.querySelector('a[href^="http"]')).toBeNull()
    for (const char of ['\u202e', '\u001b']) expect(container.textContent).not.toContain(char)
    expect(calls.every((call) => call.path.startsWith('/api/audit/'))).toBe(true)
  })

  it('says what is not whole, not measured, not sent or gone', async () => {
    await open(
      message({ claimed: true, partial: true, erased: true, open: true }, [], {
        replayed: true,
        scripted: true,
        declined: true,
      }),
    )
    for (const word of [
      'claimed by agent',
      'partial',
      'erased',
      'open',
      'replayed',
      'scripted',
      'declined',
    ])
      expect(screen.getByText(word)).toBeTruthy()
    expect(screen.getByText(/Its record and hash stay/)).toBeTruthy()
  })

  it('shows what it took, and sums what a cache held into what was read', async () => {
    await open(
      message({}, [], {
        model: 'm-1',
        durationUs: 2_500_000,
        usage: { input: 100, cacheRead: 800, cacheWrite5m: 60, cacheWrite1h: 40, output: 7 },
      }),
    )
    expect(screen.getByText('1,000')).toBeTruthy()
    expect(screen.getByText('2.5 s')).toBeTruthy()
    expect(screen.getAllByText('measured by moeca').length).toBeGreaterThan(0)
  })

  it('says which gate refused, and why', async () => {
    await open(message({ kind: 'refusal' }, [], { refusal: { gate: 'budget', reason: 'spent' } }))
    expect(screen.getByRole('heading', { level: 2 }).textContent).toBe('denied')
    expect(screen.getByText(/Gate budget – spent/)).toBeTruthy()
  })

  it('proves itself by its rows, and reads contents only when asked', async () => {
    const user = userEvent.setup()
    const { calls } = await open(message({}, []), {
      'GET /api/audit/7': row(7),
      'GET /api/audit/7/bodies': {
        request: { text: '', binary: false, size: 9, truncated: true, problem: 'erased' },
      },
    })
    const asked = (path: string) => calls.some((call) => call.path === path)
    expect(asked('/api/audit/7')).toBe(false)
    await user.click(screen.getByRole('button', { name: 'record 7' }))
    await screen.findByText('hash-7')
    expect(screen.getByText('hash-6')).toBeTruthy()
    expect(screen.getByText('spent')).toBeTruthy()
    expect(asked('/api/audit/7/bodies')).toBe(false)
    await user.click(screen.getByRole('button', { name: 'Raw request and answer' }))
    await screen.findByText('truncated')
    expect(screen.getAllByText('erased').length).toBeGreaterThan(0)
  })

  it('without one of its own, is the row that led there', async () => {
    answer({ 'GET /api/audit/7': row(7) })
    await showRouted(
      <MessageDetail stage={stage} id="7-answer" part={0} seq={7} go={() => undefined} />,
    )
    await waitFor(() => expect(screen.getByText('hash-7')).toBeTruthy())
  })
})
