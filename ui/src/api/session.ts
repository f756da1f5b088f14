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

// Where the person was when the window lost its access. A new link is opened in
// this tab or in another one, so the place is kept for all of them, once and
// for a short time.

const back = 'moeca.return'
const backFor = 30 * 60_000

/** The address to come back to; empty when it is the beginning anyway. */
export function returnPath(): string {
  const here = location.pathname + location.search
  return here === '/' ? '' : here
}

function remember(): void {
  const path = returnPath()
  if (path === '') return
  try {
    localStorage.setItem(back, JSON.stringify({ path, at: Date.now() }))
  } catch {
    // Without storage the new link leads to the beginning.
  }
}

function goBack(): void {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(back) ?? 'null')
    localStorage.removeItem(back)
    if (returnPath() !== '' || typeof kept !== 'object' || kept === null) return
    const path: unknown = Reflect.get(kept, 'path')
    const age = Date.now() - Number(Reflect.get(kept, 'at'))
    // An address of this origin only: one slash, then no other.
    if (typeof path !== 'string' || !/^\/(?![/\\])/.test(path) || !(age < backFor)) return
    history.replaceState(null, '', path)
  } catch {
    // Nothing was kept, or what was kept is no JSON.
  }
}

export function markDead(): void {
  bearer = null
  remember()
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
    if (bearer !== null) return { state: 'ready' }
    remember()
    return { state: 'dead', why: 'missing' }
  }
  try {
    bearer = await exchange(launch)
    sessionStorage.setItem(key, bearer)
    goBack()
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
