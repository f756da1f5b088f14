import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Gate, Repo, RepoId } from '@/domain/model'
import { api, settle, unwrap } from './client'
import { toRepo } from './wire'

export const reposKey = ['repos'] as const

export function useRepos() {
  return useQuery({
    queryKey: reposKey,
    queryFn: async () => ((await unwrap(api.GET('/api/repos'))) ?? []).map(toRepo),
  })
}

export type RepoForm = { path: string; name: string; target: string; ci: Gate | null }

const wireGate = (gate: Gate) => ({
  policy: gate.policy,
  argv: gate.argv,
  timeout_seconds: gate.timeoutSeconds,
})

export function useAddRepo() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (form: RepoForm): Promise<Repo> =>
      toRepo(
        await unwrap(
          api.POST('/api/repos', {
            body: {
              path: form.path,
              name: form.name,
              target: form.target,
              ...(form.ci === null ? {} : { ci: wireGate(form.ci) }),
            },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: reposKey }),
  })
}

export function useUpdateRepo(id: RepoId) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (form: { target: string; ci: Gate | null }): Promise<Repo> =>
      toRepo(
        await unwrap(
          api.PATCH('/api/repos/{id}', {
            params: { path: { id } },
            body:
              form.ci === null
                ? { target: form.target, remove_ci: true }
                : { target: form.target, ci: wireGate(form.ci) },
          }),
        ),
      ),
    onSuccess: () => queries.invalidateQueries(),
  })
}

export function useRemoveRepo() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (id: RepoId) => settle(api.DELETE('/api/repos/{id}', { params: { path: { id } } })),
    onSuccess: () => queries.invalidateQueries(),
  })
}
