import type { Provider, ProviderChange, ProviderKind } from '@/api/providers'

/** What the dialog edits: texts, as they stand in its fields. */
export type ProviderForm = {
  name: string
  kind: ProviderKind
  url: string
  models: string
  gitUrl: string
  hosts: string
  region: string
  service: string
  local: boolean
}

export const emptyForm: ProviderForm = {
  name: '',
  kind: 'anthropic',
  url: '',
  models: '',
  gitUrl: '',
  hosts: '',
  region: '',
  service: '',
  local: false,
}

export function formOf(provider: Provider): ProviderForm {
  return {
    name: provider.name,
    kind: provider.kind,
    url: provider.baseUrl,
    models: provider.models.join('\n'),
    gitUrl: provider.gitUrl,
    hosts: provider.hosts.join('\n'),
    region: provider.region,
    service: provider.service,
    local: provider.local,
  }
}

export type Part = 'url' | 'models' | 'gitUrl' | 'hosts' | 'signature' | 'local'

/** The fields a kind has beside its name. */
export function partsOf(kind: ProviderKind): readonly Part[] {
  switch (kind) {
    case 'anthropic':
    case 'openai':
      return ['url', 'local', 'models']
    case 'gemini':
      return ['url', 'models']
    case 'github':
      return ['url', 'gitUrl']
    case 'fetch':
      return ['hosts']
    case 'sigv4':
      return ['url', 'signature']
    case 'git':
    case 'jira':
    case 'trello':
    case 'notion':
    case 'custom':
      return ['url']
  }
}

/** Only what the kind has is sent; the host keeps the rest as it is. */
export function changeOf(form: ProviderForm): ProviderChange {
  const parts = partsOf(form.kind)
  const has = (part: Part) => parts.includes(part)
  return {
    kind: form.kind,
    ...(has('url') ? { baseUrl: form.url.trim() } : {}),
    ...(has('models') ? { models: lines(form.models) } : {}),
    ...(has('gitUrl') ? { gitUrl: form.gitUrl.trim() } : {}),
    ...(has('hosts') ? { hosts: lines(form.hosts) } : {}),
    ...(has('signature') ? { region: form.region.trim(), service: form.service.trim() } : {}),
    ...(has('local') ? { local: form.local } : {}),
  }
}

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}
