import {
  type Attempt,
  type Message,
  type MessageKind,
  type Part,
  type PartKind,
  partKinds,
} from '@/domain/auditMessage'
import { oneOf } from '@/domain/model'
import type { components } from './schema'

// The host's A2A documents as values of the interface.

type Wire = components['schemas']

const extension = 'urn:moeca:a2a:recorded:1'
const kinds: readonly MessageKind[] = ['message', 'system', 'request', 'refusal']

function toPart(wire: Wire['A2APart']): Part {
  const info = wire.metadata[extension]
  return {
    kind: oneOf<PartKind>(partKinds, info.kind, 'other'),
    text: wire.text ?? '',
    hasData: 'data' in wire,
    data: wire.data,
    raw: wire.raw ?? '',
    url: wire.url ?? '',
    filename: wire.filename ?? '',
    mediaType: wire.mediaType ?? '',
    id: info.id ?? '',
    name: info.name ?? '',
    link: info.link ?? '',
    unanswered: info.unanswered ?? false,
    error: info.error ?? false,
    redacted: info.redacted ?? false,
    partial: info.partial ?? false,
    choice: info.choice ?? 0,
  }
}

function toAttempt(wire: Wire['A2AAttempt']): Attempt {
  const usage = wire.usage ?? {}
  return {
    seq: wire.seq,
    outcome: wire.outcomeSeq ?? 0,
    time: wire.time ? new Date(wire.time) : null,
    durationUs: wire.durationUs ?? 0,
    open: wire.open ?? false,
    upstream: wire.upstream ?? '',
    method: wire.method ?? '',
    target: wire.target ?? '',
    status: wire.status ?? 0,
    result: wire.result ?? '',
    model: wire.model ?? '',
    stop: wire.stop ?? '',
    streamed: wire.streamed ?? false,
    declined: wire.declined ?? false,
    error: [wire.error?.type, wire.error?.message].filter(Boolean).join(': '),
    gate: wire.refusal?.gate ?? '',
    reason: wire.refusal?.reason ?? '',
    input: usage.input ?? 0,
    output: usage.output ?? 0,
    cacheRead: usage.cacheRead ?? 0,
    cacheWrite: (usage.cacheWrite5m ?? 0) + (usage.cacheWrite1h ?? 0),
    reasoning: usage.reasoning ?? 0,
    cost: usage.costNano ?? 0,
    scripted: wire.scripted ?? false,
    replayed: wire.replayed ?? false,
    partial: wire.partial ?? false,
    erased: wire.erased ?? false,
    parts: (wire.parts ?? []).map(toPart),
  }
}

export function toMessage(wire: Wire['A2AMessage']): Message {
  const info = wire.metadata[extension]
  return {
    id: wire.messageId,
    role: wire.role === 'ROLE_AGENT' ? 'agent' : 'user',
    kind: oneOf<MessageKind>(kinds, info.kind, 'message'),
    origin: info.origin ?? '',
    time: info.time ? new Date(info.time) : null,
    seqs: info.seqs ?? [],
    thread: info.thread ?? 0,
    claimed: info.claimed ?? false,
    partial: info.partial ?? false,
    erased: info.erased ?? false,
    open: info.open ?? false,
    chosen: info.chosen ?? 0,
    attempts: (info.attempts ?? []).map(toAttempt),
    parts: (wire.parts ?? []).map(toPart),
  }
}
