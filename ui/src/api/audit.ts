import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { AuditFilter, AuditRow, VerifyReport } from '@/domain/audit'
import { api, unwrap } from './client'
import type { components } from './schema'
import { statusKey } from './status'

type WireRow = components['schemas']['AuditRow']

const auditKey = ['audit'] as const

function toRow(wire: WireRow): AuditRow {
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

const pageSize = 200

type Page = { rows: AuditRow[]; next: number; total: number }

export function useAudit(filter: AuditFilter) {
  return useInfiniteQuery({
    queryKey: [...auditKey, 'rows', filter],
    initialPageParam: 0,
    queryFn: async ({ pageParam }): Promise<Page> => {
      const wire = await unwrap(
        api.GET('/api/audit', {
          params: { query: { ...filter, before: pageParam, limit: pageSize } },
        }),
      )
      return { rows: (wire.items ?? []).map(toRow), next: wire.next, total: wire.total }
    },
    getNextPageParam: (last) => (last.next > 0 ? last.next : undefined),
  })
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

const verifyKey = [...auditKey, 'verify'] as const

/** The last verification asked for in this window. */
export function useLastVerify() {
  return useQuery<VerifyReport | null>({
    queryKey: verifyKey,
    queryFn: () => null,
    enabled: false,
    initialData: null,
  })
}

export function useVerify() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (): Promise<VerifyReport> => {
      const wire = await unwrap(api.POST('/api/audit/verify'))
      return {
        ok: wire.ok,
        records: wire.records,
        head: wire.head,
        firstBroken: wire.first_broken ?? 0,
        problem: wire.problem ?? '',
        openIntents: wire.open_intents,
      }
    },
    onSuccess: (report) => {
      queries.setQueryData(verifyKey, report)
      return queries.invalidateQueries({ queryKey: statusKey })
    },
  })
}
