import { Problem, toProblem, Unreachable } from './problem'

// A launch token in the URL's fragment is exchanged once for a bearer, which
// lives in this window's session storage. No cookie, no token in a query, and
// the fragment leaves the address bar before anything else runs.

const key = 'moeca.bearer'
let bearer: string | null = null
const listeners = new Set<() => void>()

export type Start =
  | { state: 'ready' }
  | { state: 'dead'; why: 'missing' | 'used' }
  | { state: 'unreachable' }

export function token(): string | null {
  return bearer
}

/** Tells the app that the host no longer knows this window's token. */
export function onDead(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function markDead(): void {
  bearer = null
  sessionStorage.removeItem(key)
  for (const tell of listeners) tell()
}

function takeLaunchToken(): string {
  const params = new URLSearchParams(location.hash.slice(1))
  const launch = params.get('launch') ?? ''
  if (launch !== '') history.replaceState(null, '', location.pathname + location.search)
  return launch
}

export async function startSession(): Promise<Start> {
  const launch = takeLaunchToken()
  bearer = sessionStorage.getItem(key)
  if (launch === '') {
    return bearer === null ? { state: 'dead', why: 'missing' } : { state: 'ready' }
  }
  try {
    bearer = await exchange(launch)
    sessionStorage.setItem(key, bearer)
    return { state: 'ready' }
  } catch (error) {
    if (error instanceof Problem) {
      // A reload of a used link in a window that already has a bearer.
      return bearer === null ? { state: 'dead', why: 'used' } : { state: 'ready' }
    }
    return { state: 'unreachable' }
  }
}

async function exchange(launch: string): Promise<string> {
  let response: Response
  try {
    response = await fetch('/api/auth/exchange', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ launch_token: launch }),
    })
  } catch {
    throw new Unreachable()
  }
  const body: unknown = await response.json().catch(() => null)
  if (!response.ok) throw toProblem(response.status, body)
  const found: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'token') : ''
  if (typeof found !== 'string' || found === '') throw new Unreachable()
  return found
}
