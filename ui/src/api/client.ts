import createClient, { type Middleware } from 'openapi-fetch'
import { reachable, touch } from './contact'
import { toProblem, Unreachable } from './problem'
import type { paths } from './schema'
import { markDead, token } from './session'

const withBearer: Middleware = {
  onRequest({ request }) {
    if (request.method !== 'GET' && !reachable()) throw new Unreachable()
    const bearer = token()
    if (bearer !== null) request.headers.set('Authorization', `Bearer ${bearer}`)
    return request
  },
  onResponse({ response }) {
    touch()
    if (response.status === 401) markDead()
    return response
  },
  onError() {
    return new Unreachable()
  },
}

export const api = createClient<paths>({
  baseUrl: window.location.origin,
  fetch: (request: Request) => globalThis.fetch(request),
})
api.use(withBearer)

type Answer<T> = { data?: T | undefined; error?: unknown; response: Response }

/** The data of an answer, or the host's problem as an error. */
export async function unwrap<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  if (!response.ok || data === undefined) throw toProblem(response.status, error)
  return data
}

/** An answer without content. */
export async function settle(answer: Promise<Answer<unknown>>): Promise<void> {
  const { error, response } = await answer
  if (!response.ok) throw toProblem(response.status, error)
}
