import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useMatchRoute, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { CacheFeed, openStream } from '@/api/events'
import { Toasts } from '@/components/Toasts'
import type { RepoId } from '@/domain/model'
import { Rail } from '@/features/repos/Rail'
import { useWindow } from '@/store/window'
import { BrokenLog } from './BrokenLog'
import { Dialogs } from './Dialogs'
import { Offline } from './Offline'
import { StatusStrip } from './StatusStrip'
import { TopBar } from './TopBar'
import { useGlobalKeys } from './useGlobalKeys'

export function Frame() {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const search = useSearch({ strict: false })
  const repo: string | undefined = search.repo
  // A task as a page has the whole width.
  const onTask = useMatchRoute()({ to: '/tasks/$taskId' }) !== false
  const wide = onTask && search.wide === true
  useGlobalKeys()
  useEffect(() => {
    const stream = openStream(new CacheFeed(queries), useWindow.getState().setOnline)
    return () => stream.close()
  }, [queries])
  return (
    <div className="flex h-full flex-col">
      <button
        type="button"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-card focus:p-2"
        onClick={() => document.getElementById('content')?.focus()}
      >
        {t('nav.skip')}
      </button>
      <TopBar />
      <Offline />
      <BrokenLog />
      <div className="flex min-h-0 flex-1">
        {wide ? null : (
          <Rail
            repo={(repo as RepoId | undefined) ?? null}
            onRepo={(next) =>
              void navigate({ to: '/', search: next === null ? {} : { repo: next } })
            }
          />
        )}
        <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 outline-none">
          <Outlet />
        </main>
      </div>
      <StatusStrip />
      <Toasts />
      <Dialogs />
    </div>
  )
}
