// What was said, as the host rebuilt it from recorded traffic (A2A 1.0 names).
// Texts are an agent's or an upstream's: hostile.

export const partKinds = [
  'text',
  'thinking',
  'tool-use',
  'tool-result',
  'server-tool-use',
  'server-tool-result',
  'file',
  'declined',
  'tools',
  'error',
  'request-body',
  'response-body',
  'other',
  'raw',
] as const
export type PartKind = (typeof partKinds)[number]

export type Part = {
  kind: PartKind
  text: string
  /** Whether there is data, which may be JSON's null. */
  hasData: boolean
  data: unknown
  /** Bytes, in base64. */
  raw: string
  url: string
  filename: string
  mediaType: string
  id: string
  name: string
  /** The message with the result of this use, or the use of this result. */
  link: string
  unanswered: boolean
  error: boolean
  redacted: boolean
  partial: boolean
  choice: number
}

export type Attempt = {
  seq: number
  outcome: number
  time: Date | null
  durationUs: number
  open: boolean
  upstream: string
  method: string
  target: string
  status: number
  result: string
  model: string
  stop: string
  streamed: boolean
  declined: boolean
  error: string
  gate: string
  reason: string
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  reasoning: number
  cost: number
  scripted: boolean
  replayed: boolean
  partial: boolean
  erased: boolean
  /** What it brought, where another attempt is shown. */
  parts: Part[]
}

export type MessageKind = 'message' | 'system' | 'request' | 'refusal'

export type Message = {
  id: string
  role: 'user' | 'agent'
  kind: MessageKind
  origin: string
  time: Date | null
  seqs: number[]
  thread: number
  claimed: boolean
  partial: boolean
  erased: boolean
  open: boolean
  chosen: number
  attempts: Attempt[]
  parts: Part[]
}

/** Who speaks, in a word the languages know. */
export type Speaker = 'system' | 'agent' | 'tool' | 'user' | 'request' | 'refusal'

export function speaker(message: Message): Speaker {
  if (message.kind !== 'message') return message.kind
  if (message.role === 'agent') return 'agent'
  const results = message.parts.filter((part) => part.kind === 'tool-result').length
  return results > 0 && results === message.parts.length ? 'tool' : 'user'
}

const lineLength = 160

function firstLine(text: string): string {
  const start = text.slice(0, 4 * lineLength).trimStart()
  return (start.split('\n', 1)[0] ?? '').slice(0, lineLength)
}

/** The most telling argument of a call, or its data as one line. */
function argument(data: unknown): string {
  if (data === null || data === undefined) return ''
  if (typeof data !== 'object') return firstLine(String(data))
  const fields = Object.entries(data)
  const told = fields.find(([key]) => ['path', 'file', 'dir', 'pattern', 'command'].includes(key))
  const value = (told ?? fields[0])?.[1]
  return typeof value === 'string' ? firstLine(value) : firstLine(JSON.stringify(value) ?? '')
}

/** What a part is about, in one line; empty where it says nothing. */
export function partTitle(part: Part): string {
  if (part.kind === 'tool-use' || part.kind === 'server-tool-use')
    return [part.name, argument(part.data)].filter(Boolean).join(' ')
  const words = part.text === '' ? shownData(part) : part.text
  const name = part.kind === 'tool-result' || part.kind === 'server-tool-result' ? part.name : ''
  return [name, firstLine(words) || part.filename || part.mediaType].filter(Boolean).join(' ')
}

function shownData(part: Part): string {
  if (!part.hasData) return part.url
  if (part.kind === 'tools' && Array.isArray(part.data))
    return part.data.map((tool) => String(Reflect.get(Object(tool), 'name') ?? '')).join(', ')
  return JSON.stringify(part.data) ?? ''
}

/** What a message is about, in one line: its words before its calls. */
export function messageTitle(message: Message): string {
  const parts = message.parts
  const said = parts.find((part) => part.kind === 'text' && part.text.trim() !== '')
  const part = said ?? parts.find((one) => partTitle(one) !== '')
  if (part !== undefined) return partTitle(part)
  const attempt = message.attempts[message.chosen]
  if (attempt === undefined) return ''
  return [attempt.gate, attempt.reason, attempt.error, attempt.target].find(Boolean) ?? ''
}

/** A part's content for reading. */
export function partBody(part: Part): string {
  if (part.text !== '') return part.text
  if (part.hasData) return JSON.stringify(part.data, null, 2) ?? ''
  return part.url
}

/** The part that answers a use or is answered by a result, in the other message. */
export function partner(part: Part, other: Message): Part | undefined {
  const kinds: Partial<Record<PartKind, PartKind>> = {
    'tool-use': 'tool-result',
    'tool-result': 'tool-use',
    'server-tool-use': 'server-tool-result',
    'server-tool-result': 'server-tool-use',
  }
  return other.parts.find((one) => one.kind === kinds[part.kind] && one.id === part.id)
}

export type Usage = Pick<Attempt, 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning'>

/** Everything the model read; the parts of it that a cache held are in it. */
export function readTokens(usage: Usage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite
}
