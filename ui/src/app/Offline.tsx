import { WifiOff } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { lastContact } from '@/api/contact'
import { full } from '@/domain/time'
import { useWindow } from '@/store/window'

/** Says that the host is gone, since when, and what to do. */
export function Offline() {
  const { t, i18n } = useTranslation()
  const online = useWindow((state) => state.online)
  if (online) return null
  return (
    <div
      role="alert"
      className="flex items-start gap-2 border-b border-red/40 bg-red-soft px-4 py-2 text-t1"
    >
      <WifiOff aria-hidden className="mt-0.5 size-4 shrink-0 text-red" />
      <p>
        <strong className="font-semibold text-red">{t('common.lost')}</strong>{' '}
        {t('common.lostSince', { time: full(lastContact(), i18n.language) })}{' '}
        <code className="rounded-sm bg-inset px-1 font-mono text-sm">moeca</code>
      </p>
    </div>
  )
}
