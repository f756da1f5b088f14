import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, settle, unwrap } from './client'
import type { components } from './schema'
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
  note: string
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
        note: one.note ?? '',
      }))
    },
  })
}

export type WitnessForm = components['schemas']['WitnessInput']

/** The host tells a new witness at once; the answer comes after that. */
export function usePutWitness() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: WitnessForm) => unwrap(api.PUT('/api/audit/witnesses', { body })),
    // Not waited for: what was done can be told at once.
    onSuccess: () => void queries.invalidateQueries({ queryKey: statusKey }),
  })
}

export function useRemoveWitness() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (id: string) =>
      settle(api.DELETE('/api/audit/witnesses', { params: { query: { id } } })),
    // Not waited for: what was done can be told at once.
    onSuccess: () => void queries.invalidateQueries({ queryKey: statusKey }),
  })
}
