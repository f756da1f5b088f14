import createClient, { type Middleware } from 'openapi-fetch'
import { toProblem, Unreachable } from './problem'
import type { components, paths } from './schema'
import { markDead, token } from './session'

const withBearer: Middleware = {
  onRequest({ request }) {
    const bearer = token()
    if (bearer !== null) request.headers.set('Authorization', `Bearer ${bearer}`)
    return request
  },
  onResponse({ response }) {
    if (response.status === 401) markDead()
    return response
  },
  onError() {
    return new Unreachable()
  },
}

type Schemas = components['schemas']
type Landing = {
  '/api/tasks/{id}/approve-and-merge': {
    post: {
      parameters: { path: { id: string } }
      requestBody: { content: { 'application/json': Schemas['ApproveRequest'] } }
      responses: {
        200: {
          content: {
            'application/json': { approval: Schemas['Approval']; merged: Schemas['Merged'] }
          }
        }
      }
    }
  }
}

export const api = createClient<paths & Landing>({
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
