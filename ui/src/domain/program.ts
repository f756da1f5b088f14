import type { Limit } from './limit'

/** What a model provider may do on its own side for a session; the gateway's words. */
export const grants = [
  'web-search',
  'web-fetch',
  'url-source',
  'hosted-code',
  'mcp',
  'hosted-files',
  'hosted-state',
  'batches',
  'computer',
  'image-generation',
  'audio',
  'tool-search',
] as const

/** Tokens a session may use when nobody said how many (gatewayapi.DefaultSessionTokens). */
export const defaultTokens = 2_000_000

export const lifetimes = [3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600] as const

/** A live session of the gateway, without its token. */
export type Session = {
  id: string
  /** Made for a program on this machine, and not for a sandbox. */
  program: boolean
  /** The host's own. */
  service: boolean
  name: string
  task: string
  reach: string[]
  grants: string[]
  repos: string[]
  limit: Limit
  spent: { tokens: number; cost: number }
  unattended: boolean
  expires: Date
}

/** Where a provider is reached, and the variables clients of its kind read. */
type SessionURL = {
  provider: string
  kind: string
  url: string
  gitUrl: string
  variable: string
  keyVariable: string
}

export type MadeSession = { session: Session; token: string; header: string; urls: SessionURL[] }

export type Recipe = {
  provider: string
  kind: 'claude' | 'openai' | 'gemini' | 'git' | 'http'
  lines: string
}

/** Lines for a terminal that point a client at the gateway, one recipe a provider. */
export function recipesOf({ token, header, urls, session }: MadeSession): Recipe[] {
  return urls.map((url) => {
    const { provider, variable, keyVariable } = url
    if (variable !== '' && keyVariable !== '') {
      const lines = [
        `export ${variable}=${quoted(url.url)}`,
        `export ${keyVariable}=${quoted(token)}`,
      ].join('\n')
      return { provider, kind: clientOf(url.kind), lines }
    }
    const field = quoted(`${header}: ${token}`)
    if (url.gitUrl !== '') {
      const repo = session.repos[0] ?? 'OWNER/NAME'
      const lines = `git clone -c http.extraHeader=${field} ${quoted(`${url.gitUrl}/${repo}.git`)}`
      return { provider, kind: 'git', lines }
    }
    return { provider, kind: 'http', lines: `curl -H ${field} ${quoted(`${url.url}/`)}` }
  })
}

function clientOf(kind: string): Recipe['kind'] {
  switch (kind) {
    case 'anthropic':
      return 'claude'
    case 'openai':
    case 'gemini':
      return kind
    default:
      return 'http'
  }
}

/** One word for a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
