import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type Limit, limitOf, wireTaskLimit } from '@/domain/limit'
import { defaultTokens, type MadeSession, type Session } from '@/domain/program'
import { api, settle, unwrap } from './client'
import type { components } from './schema'

type Wire = components['schemas']

const sessionsKey = ['sessions'] as const

function toSession(wire: Wire['LiveSession']): Session {
  const limit = limitOf(wire.budget)
  return {
    id: wire.id,
    program: wire.program,
    service: wire.service,
    name: wire.name,
    task: wire.task ?? '',
    reach: wire.reach ?? [],
    grants: wire.grants ?? [],
    repos: wire.repos ?? [],
    limit: { ...limit, tokens: limit.tokens ?? defaultTokens },
    spent: { tokens: wire.spent.tokens ?? 0, cost: wire.spent.cost_nano ?? 0 },
    unattended: wire.unattended,
    expires: new Date(wire.expires_at),
  }
}

export function useSessions() {
  return useQuery({
    queryKey: sessionsKey,
    queryFn: async () => ((await unwrap(api.GET('/api/sessions'))) ?? []).map(toSession),
    // Sessions of sandboxes come and go with their stages.
    refetchInterval: 5000,
  })
}

export type NewSession = {
  name: string
  reach: string[]
  grants: string[]
  repos: string[]
  limit: Limit
  seconds: number
  unattended: boolean
}

/** The token is in this one answer; it is kept in no cache. */
export function useCreateSession() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (form: NewSession): Promise<MadeSession> => {
      const { name, reach, grants, repos, limit, seconds, unattended } = form
      const body = { name, reach, grants, repos, unattended }
      const made = await unwrap(
        api.POST('/api/sessions', {
          body: { ...body, budget: wireTaskLimit(limit), ttl_seconds: seconds },
        }),
      )
      return {
        session: toSession(made.session),
        token: made.token,
        header: made.header,
        urls: (made.urls ?? []).map((url) => ({
          provider: url.provider,
          kind: url.kind,
          url: url.url,
          gitUrl: url.git_url ?? '',
          variable: url.variable ?? '',
          keyVariable: url.key_variable ?? '',
        })),
      }
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: sessionsKey }),
    gcTime: 0,
  })
}

export function useRevokeSession() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (id: string) =>
      settle(api.DELETE('/api/sessions/{id}', { params: { path: { id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: sessionsKey }),
  })
}
