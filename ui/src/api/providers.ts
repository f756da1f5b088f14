import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, settle, unwrap } from './client'

const providersKey = ['providers'] as const

export const providerKinds = ['anthropic', 'openai', 'gemini', 'custom'] as const
export type ProviderKind = (typeof providerKinds)[number]

export type Provider = {
  name: string
  kind: string
  baseUrl: string
  models: string[]
  scripted: boolean
  builtIn: boolean
  runnable: boolean
  hasSecret: boolean
  setAt: Date | null
  lastUsed: Date | null
  keptIn: string
}

export function useProviders() {
  return useQuery({
    queryKey: providersKey,
    queryFn: async (): Promise<Provider[]> =>
      ((await unwrap(api.GET('/api/providers'))) ?? []).map((wire) => ({
        name: wire.name,
        kind: wire.kind,
        baseUrl: wire.base_url,
        models: wire.models ?? [],
        scripted: wire.scripted,
        builtIn: wire.built_in,
        runnable: wire.runnable,
        hasSecret: wire.has_secret,
        setAt: wire.secret_set_at ? new Date(wire.secret_set_at) : null,
        lastUsed: wire.secret_last_used ? new Date(wire.secret_last_used) : null,
        keptIn: wire.secret_store ?? '',
      })),
  })
}

/** The key goes out in this one request and stays nowhere in the window. */
export function useSetSecret() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ name, value }: { name: string; value: string }) =>
      settle(
        api.PUT('/api/providers/{name}/secret', { params: { path: { name } }, body: { value } }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: providersKey }),
    gcTime: 0,
  })
}

export function usePutProvider() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (form: { name: string; kind: ProviderKind; baseUrl: string; models: string[] }) =>
      settle(
        api.PUT('/api/providers/{name}', {
          params: { path: { name: form.name } },
          body: { kind: form.kind, base_url: form.baseUrl, models: form.models },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: providersKey }),
  })
}
