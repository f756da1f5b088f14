import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditRow } from '@/domain/audit'
import { type AuditFilter, toQuery } from '@/domain/auditFilter'
import { toRow } from './audit'
import { growingKey } from './auditTrace'
import { api, unwrap } from './client'

const pageSize = 200

type Page = { rows: AuditRow[]; next: number; total: number; count: number; problem: string }

/** Rows of the log, newest first. Count is -1 where the host cannot tell. */
export function useAuditRows(filter: AuditFilter) {
  const query = toQuery(filter, new Date())
  return useInfiniteQuery({
    queryKey: [...growingKey, 'rows', query],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }): Promise<Page> => {
      const wire = await unwrap(
        api.GET('/api/audit', {
          params: { query: { ...query, before: pageParam, limit: pageSize } },
          signal,
        }),
      )
      return {
        rows: (wire.items ?? []).map(toRow),
        next: wire.next,
        total: wire.total,
        count: wire.count ?? -1,
        problem: wire.problem ?? '',
      }
    },
    getNextPageParam: (last) => (last.next > 0 ? last.next : undefined),
  })
}
