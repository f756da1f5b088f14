import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { VerifyReport } from '@/domain/audit'
import { api, unwrap } from './client'
import { statusKey } from './status'

// What every screen shows of the log: whether it was verified, and that it grew.

/** How far the log is indexed; events of the host renew it. */
export const auditHeadKey = ['audit', 'head'] as const

const verifyKey = ['audit', 'verify'] as const

const reachedKey = ['audit', 'reached'] as const

/** The row the host's verification has reached; 0 before the first word of it. */
export function useReached(): number {
  return (
    useQuery<number>({
      queryKey: reachedKey,
      queryFn: () => 0,
      enabled: false,
      initialData: 0,
    }).data ?? 0
  )
}

/** Takes in what an event says of a verification under way. */
export function setReached(queries: QueryClient, row: number) {
  if (Number.isSafeInteger(row)) queries.setQueryData(reachedKey, row)
}

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
    onMutate: () => setReached(queries, 0),
    mutationFn: async (): Promise<VerifyReport> => {
      const wire = await unwrap(api.POST('/api/audit/verify'))
      return {
        ok: wire.ok,
        records: wire.records,
        head: wire.head,
        firstBroken: wire.first_broken ?? 0,
        problem: wire.problem ?? '',
        openIntents: wire.open_intents,
        witnesses: (wire.witnesses ?? []).map(({ id, name, ok, rows, problem = '' }) => ({
          id,
          name,
          ok,
          rows,
          problem,
        })),
      }
    },
    onSuccess: (report) => {
      queries.setQueryData(verifyKey, report)
      return queries.invalidateQueries({ queryKey: statusKey })
    },
  })
}
