import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { CacheFeed, openStream } from '@/api/events'
import { Toasts } from '@/components/Toasts'
import type { RepoId } from '@/domain/model'
import { Rail } from '@/features/repos/Rail'
import { useWindow } from '@/store/window'
import { Dialogs } from './Dialogs'
import { StatusStrip } from './StatusStrip'
import { TopBar } from './TopBar'
import { useGlobalKeys } from './useGlobalKeys'

export function Frame() {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const repo: string | undefined = useSearch({ strict: false }).repo
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
      <div className="flex min-h-0 flex-1">
        <Rail
          repo={(repo as RepoId | undefined) ?? null}
          onRepo={(next) => void navigate({ to: '/', search: next === null ? {} : { repo: next } })}
        />
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
