// What an agent said about itself. Everything here is claimed: types and times
// are the agent's own, texts are hostile.

export type LogItem = {
  seq: number
  time: Date
  stage: string
  type: string
  turn: number
  text: string
  tool: string
  callId: string
  input: string
  error: boolean
  code: number
  cut: boolean
  /** Why a last event is an error. */
  cause: string
}

export type Entry =
  | { kind: 'call'; key: number; call: LogItem; result: LogItem | null }
  | { kind: 'text' | 'thinking' | 'note' | 'done'; key: number; item: LogItem }
  | { kind: 'output'; key: number; item: LogItem; text: string }

/**
 * Entries for people: a tool's answer joins its call, neighbouring chunks of a
 * command's output become one, and marks of the protocol (ready, started) stay
 * out. A result without a call is still shown.
 */
export function entries(items: readonly LogItem[]): Entry[] {
  const out: Entry[] = []
  const open = new Map<string, Extract<Entry, { kind: 'call' }>>()
  for (const item of items) {
    switch (item.type) {
      case 'ready':
      case 'started':
        break
      case 'tool_use': {
        const entry = { kind: 'call' as const, key: item.seq, call: item, result: null }
        if (item.callId !== '') open.set(`${item.stage}/${item.callId}`, entry)
        out.push(entry)
        break
      }
      case 'tool_result':
        joinResult(out, open, item)
        break
      case 'text':
      case 'thinking':
      case 'note':
      case 'done':
        out.push({ kind: item.type, key: item.seq, item })
        break
      default:
        joinOutput(out, item)
    }
  }
  return out
}

function joinResult(
  out: Entry[],
  open: Map<string, Extract<Entry, { kind: 'call' }>>,
  item: LogItem,
): void {
  const key = `${item.stage}/${item.callId}`
  const call = open.get(key)
  if (call === undefined) {
    joinOutput(out, item)
    return
  }
  open.delete(key)
  call.result = item
}

function joinOutput(out: Entry[], item: LogItem): void {
  const last = out.at(-1)
  if (last?.kind === 'output' && last.item.type === item.type && last.item.stage === item.stage) {
    last.text += item.text
    return
  }
  out.push({ kind: 'output', key: item.seq, item, text: item.text })
}

/** JSON for reading; text that is not JSON stays as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/**
 * A body for reading: JSON indented, each data line of an event stream
 * indented, everything else untouched.
 */
export function prettyBody(text: string): string {
  const whole = pretty(text)
  if (whole !== text || !/^(event|data|id|retry|:)/m.test(text)) return whole
  return text
    .split('\n')
    .map((line) => (line.startsWith('data: ') ? `data: ${pretty(line.slice(6))}` : line))
    .join('\n')
}

/** A one-line idea of a tool call: its most telling argument. */
export function callTitle(input: string): string {
  try {
    const parsed: unknown = JSON.parse(input)
    if (typeof parsed !== 'object' || parsed === null) return ''
    const fields = Object.entries(parsed)
    const told = fields.find(([key]) => ['path', 'file', 'dir', 'pattern'].includes(key))
    const value = (told ?? fields[0])?.[1]
    return typeof value === 'string' ? (value.split('\n')[0] ?? '').slice(0, 120) : ''
  } catch {
    return ''
  }
}
