import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import {
  createMemoryHistory,
  createRootRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { render } from '@testing-library/react'
import i18next from 'i18next'
import { Tooltip } from 'radix-ui'
import type { ReactElement } from 'react'
import { startI18n, withWords } from '../src/i18n'
import { withTrace } from '../src/i18n/trace'

/** Renders with the languages, the tips and an empty cache of the app. */
export async function show(element: ReactElement) {
  if (!i18next.isInitialized) {
    await withWords(startI18n('en'))
    await withTrace(Promise.resolve())
  }
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
  const wrap = (inner: ReactElement) => (
    <QueryClientProvider client={queries}>
      <Tooltip.Provider>{inner}</Tooltip.Provider>
    </QueryClientProvider>
  )
  return { ...render(wrap(element)), wrap }
}

/** The same inside a router whose every address shows the element. */
export async function showRouted(element: ReactElement, at = '/') {
  const route = createRootRoute({ component: () => element })
  const router = createRouter({
    routeTree: route,
    history: createMemoryHistory({ initialEntries: [at] }),
  })
  await router.load()
  return show(<RouterProvider router={router as never} />)
}

export type Call = { method: string; path: string; body: unknown; bearer: string }

/** A host of answers by "METHOD /path"; every call is kept. */
export function answer(routes: Record<string, unknown>): { calls: Call[] } {
  const calls: Call[] = []
  const fake = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(
      new URL(String(input instanceof Request ? input.url : input), 'http://localhost'),
      input instanceof Request ? input : init,
    )
    const path = new URL(request.url).pathname
    const text = await request.text()
    calls.push({
      method: request.method,
      path,
      body: text === '' ? undefined : JSON.parse(text),
      bearer: request.headers.get('Authorization') ?? '',
    })
    const found = routes[`${request.method} ${path}`]
    if (found instanceof Response) return found.clone()
    if (found === undefined) return problem(404, 'not_found', 'nothing there')
    return Response.json(found)
  }
  globalThis.fetch = fake as typeof fetch
  return { calls }
}

export function problem(status: number, code: string, detail: string, next = ''): Response {
  return Response.json({ title: 'x', status, code, detail, next }, { status })
}
