import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { growingKey } from './auditTrace'
import { api, unwrap } from './client'

/** Whose contents are erased. */
export type Whose = { task: string } | { run: string }

/** How many requests that are, whatever a filter shows of them. */
export function useRequestsOf(whose: Whose) {
  return useQuery({
    queryKey: [...growingKey, 'count', whose],
    queryFn: async () =>
      (await unwrap(api.GET('/api/audit/calls', { params: { query: { ...whose, limit: 1 } } })))
        .count,
  })
}

export function useErase(whose: Whose) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => {
      const { row, bodies, bytes } = await unwrap(api.POST('/api/audit/erase', { body: whose }))
      return { row, bodies, bytes }
    },
    // Not waited for: what was done can be told at once.
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['audit'] }),
  })
}
