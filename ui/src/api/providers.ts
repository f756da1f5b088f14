import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, settle, unwrap } from './client'

const providersKey = ['providers'] as const

export const providerKinds = [
  'anthropic',
  'openai',
  'gemini',
  'github',
  'git',
  'jira',
  'trello',
  'notion',
  'fetch',
  'sigv4',
  'custom',
] as const
export type ProviderKind = (typeof providerKinds)[number]

/** Whether a provider of the kind answers as a model; the others are tools. */
export function isModel(kind: ProviderKind): boolean {
  return kind === 'anthropic' || kind === 'openai' || kind === 'gemini'
}

export type Provider = {
  name: string
  kind: ProviderKind
  baseUrl: string
  models: string[]
  gitUrl: string
  hosts: string[]
  region: string
  service: string
  /** A model server of one's own, by exact address. */
  local: boolean
  needsKey: boolean
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
        gitUrl: wire.git_url,
        hosts: wire.hosts ?? [],
        region: wire.auth_region,
        service: wire.auth_service,
        local: wire.local,
        needsKey: wire.needs_key,
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

/** Absent fields keep their value. */
export type ProviderChange = {
  kind?: ProviderKind
  baseUrl?: string
  models?: string[]
  gitUrl?: string
  hosts?: string[]
  region?: string
  service?: string
  local?: boolean
}

export function usePutProvider() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ name, change }: { name: string; change: ProviderChange }) =>
      settle(
        api.PUT('/api/providers/{name}', { params: { path: { name } }, body: wireOf(change) }),
      ),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: providersKey })
      void queries.invalidateQueries({ queryKey: serversKey })
    },
  })
}

function wireOf(change: ProviderChange) {
  const { baseUrl, gitUrl, region, service, ...same } = change
  return {
    ...same,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(gitUrl === undefined ? {} : { git_url: gitUrl }),
    ...(region === undefined ? {} : { auth_region: region }),
    ...(service === undefined ? {} : { auth_service: service }),
    ...(change.kind === 'sigv4' ? { auth_scheme: 'sigv4' as const } : {}),
  }
}

export function useDeleteProvider() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (name: string) =>
      settle(api.DELETE('/api/providers/{name}', { params: { path: { name } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: providersKey })
      void queries.invalidateQueries({ queryKey: serversKey })
    },
  })
}

/** One call that costs nothing. */
export function useTestProvider() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (name: string) =>
      unwrap(api.POST('/api/providers/{name}/test', { params: { path: { name } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: providersKey }),
  })
}

/** Asks the upstream for its models, when it is called. */
export function useModels() {
  return useMutation({
    mutationFn: async (name: string): Promise<string[]> =>
      (await unwrap(api.GET('/api/providers/{name}/models', { params: { path: { name } } })))
        .models ?? [],
  })
}

const serversKey = ['local-servers'] as const

export type LocalServer = { name: string; baseUrl: string; models: string[]; added: string }

export function useLocalServers() {
  return useQuery({
    queryKey: serversKey,
    queryFn: async (): Promise<LocalServer[]> =>
      ((await unwrap(api.GET('/api/local-servers'))) ?? []).map((wire) => ({
        name: wire.name,
        baseUrl: wire.base_url,
        models: wire.models ?? [],
        added: wire.added ?? '',
      })),
  })
}
