import { useQuery } from '@tanstack/react-query'
import type { AuditRow } from '@/domain/audit'
import { api, unwrap } from './client'
import type { components } from './schema'

type WireRow = components['schemas']['AuditRow']

const auditKey = ['audit'] as const

export function toRow(wire: WireRow): AuditRow {
  return {
    seq: wire.seq,
    time: new Date(wire.time),
    hash: wire.hash,
    prev: wire.prev,
    kind: wire.kind,
    source: wire.source,
    actor: wire.actor,
    ref: wire.ref ?? 0,
    task: wire.task ?? '',
    run: wire.run ?? '',
    stage: wire.stage ?? '',
    session: wire.session ?? '',
    agent: wire.agent ?? '',
    upstream: wire.upstream ?? '',
    method: wire.method ?? '',
    target: wire.target ?? '',
    gate: wire.gate ?? '',
    reason: wire.reason ?? '',
    status: wire.status ?? 0,
    result: wire.result ?? '',
    durationUs: wire.duration_us,
    model: wire.model ?? '',
    input: wire.tokens_in,
    output: wire.tokens_out,
    bytesIn: wire.bytes_in,
    bytesOut: wire.bytes_out,
    scripted: wire.scripted,
    subject: wire.subject ?? '',
    detail: wire.detail ?? '',
    attrs: Object.entries(wire.attrs ?? {}),
    hasBody: wire.has_body,
    partial: wire.partial,
  }
}

export function useAuditRow(seq: number) {
  return useQuery({
    queryKey: [...auditKey, 'row', seq],
    queryFn: async () =>
      toRow(await unwrap(api.GET('/api/audit/{seq}', { params: { path: { seq } } }))),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

export type Body = {
  text: string
  binary: boolean
  size: number
  truncated: boolean
  problem: string
}

function toBody(wire: components['schemas']['AuditBody'] | undefined): Body | null {
  return wire ? { ...wire, problem: wire.problem ?? '' } : null
}

export function useBodies(seq: number) {
  return useQuery({
    queryKey: [...auditKey, 'bodies', seq],
    queryFn: async () => {
      const wire = await unwrap(api.GET('/api/audit/{seq}/bodies', { params: { path: { seq } } }))
      return { request: toBody(wire.request), response: toBody(wire.response) }
    },
  })
}
