import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { Tooltip } from 'radix-ui'
import { useEffect, useState } from 'react'
import { Problem } from '@/api/problem'
import { onDead, type Start } from '@/api/session'
import { changeLanguage } from '@/i18n'
import { applyTheme, useWindow } from '@/store/window'
import { router } from './router'
import { SessionPage } from './SessionPage'

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal stays a refusal; only a host that did not answer is asked again.
      retry: (times, error) => !(error instanceof Problem) && times < 3,
      refetchOnWindowFocus: false,
    },
  },
})

export function App({ start }: { start: Start }) {
  const [session, setSession] = useState(start)
  const language = useWindow((state) => state.language)
  useEffect(() => onDead(() => setSession({ state: 'dead', why: 'used' })), [])
  useEffect(() => applyTheme(), [])
  useEffect(() => void changeLanguage(language), [language])
  if (session.state !== 'ready') return <SessionPage session={session} />
  return (
    <QueryClientProvider client={queries}>
      <Tooltip.Provider delayDuration={300}>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>
  )
}
