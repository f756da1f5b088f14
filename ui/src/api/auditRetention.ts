import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from './client'

const retentionKey = ['audit', 'retention'] as const

/** For how many days captured contents are kept; 0 is for ever. */
export function useRetention() {
  return useQuery({
    queryKey: retentionKey,
    queryFn: async () => (await unwrap(api.GET('/api/audit/retention'))).days,
  })
}

export function useSetRetention() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (days: number) =>
      (await unwrap(api.PUT('/api/audit/retention', { body: { days } }))).days,
    onSuccess: (days) => {
      queries.setQueryData(retentionKey, days)
      // What is on the screen may be erased by now.
      void queries.invalidateQueries({ queryKey: ['audit'] })
    },
  })
}
