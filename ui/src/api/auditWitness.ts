import { useQuery } from '@tanstack/react-query'
import { api, unwrap } from './client'
import { statusKey } from './status'

export type Witness = {
  id: string
  kind: string
  name: string
  /** When it last heard of the log. */
  at: Date | null
  rows: number
  /** It has seen another log than this one. */
  diverged: boolean
  off: boolean
  problem: string
}

/** Who else knows how the log was; read again whenever the host's state is. */
export function useWitnesses() {
  return useQuery({
    queryKey: [...statusKey, 'witnesses'],
    queryFn: async (): Promise<Witness[]> => {
      const wire = await unwrap(api.GET('/api/audit/witnesses'))
      return (wire.items ?? []).map((one) => ({
        id: one.id,
        kind: one.kind,
        name: one.name,
        at: one.at ? new Date(one.at) : null,
        rows: one.rows,
        diverged: one.diverged ?? false,
        off: one.off ?? false,
        problem: one.problem ?? '',
      }))
    },
  })
}
