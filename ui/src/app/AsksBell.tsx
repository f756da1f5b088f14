import { Bell } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useAsks } from '@/api/asks'
import { Button } from '@/components/Button'
import { useDialogs } from '@/store/dialogs'

/** How many requests wait for an answer, on every screen. */
export function AsksBell() {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  const count = useAsks().data?.length ?? 0
  const label = t('nav.asks', { count, n: count })
  return (
    <>
      <Button
        look="ghost"
        size={count === 0 ? 'icon' : 'normal'}
        aria-label={label}
        title={label}
        onClick={() => show({ kind: 'asks' })}
      >
        <Bell aria-hidden className={count === 0 ? undefined : 'text-amber'} />
        {count === 0 ? null : <span className="font-semibold text-amber">{count}</span>}
      </Button>
      <span role="status" className="sr-only">
        {count === 0 ? '' : label}
      </span>
    </>
  )
}
