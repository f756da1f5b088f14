import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Ask } from '@/domain/ask'
import type { RunId, TaskId } from '@/domain/model'
import { api, unwrap } from './client'
import type { components } from './schema'

export const asksKey = ['asks'] as const

function toAsk(wire: components['schemas']['Ask']): Ask {
  const { operation = '', method = '', path = '' } = wire.rule
  return {
    id: wire.id,
    task: wire.task ? (wire.task as TaskId) : null,
    run: wire.run ? (wire.run as RunId) : null,
    agent: wire.agent ?? '',
    upstream: wire.upstream,
    method: wire.method,
    target: wire.target,
    operations: wire.operations ?? [],
    refs: wire.refs ?? [],
    body: wire.body ?? '',
    bodyBytes: wire.body_bytes ?? 0,
    rule: { operation, method, path },
    asked: new Date(wire.asked_at),
    expires: new Date(wire.expires_at),
  }
}

/** What waits for a person, oldest first. Events say when it is to be read again. */
export function useAsks() {
  return useQuery({
    queryKey: asksKey,
    queryFn: async () => ((await unwrap(api.GET('/api/asks'))) ?? []).map(toAsk),
  })
}

export function useAnswerAsk() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ ask, allow }: { ask: Ask; allow: boolean }) =>
      unwrap(api.POST('/api/asks/{id}', { params: { path: { id: ask.id } }, body: { allow } })),
    onSettled: () => queries.invalidateQueries({ queryKey: asksKey }),
  })
}
