import { KeyRound, Unplug } from 'lucide-react'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { returnPath, type Start } from '@/api/session'
import { Button } from '@/components/Button'
import { Safe } from '@/components/Safe'

/** Shown instead of the app when this window may not talk to the host. */
export function SessionPage({ session }: { session: Exclude<Start, { state: 'ready' }> }) {
  const { t } = useTranslation()
  const dead = session.state === 'dead'
  const path = returnPath()
  useEffect(() => {
    // The new link may differ from this address in its fragment alone.
    const onHash = () => {
      if (location.hash.startsWith('#launch=')) location.reload()
    }
    window.addEventListener('hashchange', onHash)
    return () => window.removeEventListener('hashchange', onHash)
  }, [])
  const Icon = dead ? KeyRound : Unplug
  return (
    <main className="flex h-full items-center justify-center p-6">
      <div className="flex w-[460px] flex-col gap-3 rounded-md border border-line bg-panel p-6">
        <h1 className="flex items-center gap-2 text-lg font-semibold">
          <Icon aria-hidden className="size-5 text-amber" />
          {dead ? t('session.title') : t('session.unreachable')}
        </h1>
        <p className="text-md text-t2">
          {dead
            ? `${t(`session.${session.why}`)} ${t('session.how')}`
            : t('session.unreachableHow')}
        </p>
        <pre className="rounded-md bg-inset p-2 font-mono text-md">
          {dead ? 'moeca open' : 'moeca'}
        </pre>
        {dead && path !== '' ? (
          <p className="break-all text-t2">
            <Safe text={t('session.returns', { path })} />
          </p>
        ) : null}
        {dead ? null : (
          <div>
            <Button onClick={() => location.reload()}>{t('session.reload')}</Button>
          </div>
        )}
      </div>
    </main>
  )
}
