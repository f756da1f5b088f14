import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Empty } from '@/components/State'

/** One screen broke: say so there, keep the frame. */
export function CrashPage({ error }: { error: unknown }) {
  const { t } = useTranslation()
  return (
    <div role="alert" className="m-auto">
      <Empty
        title={t('error.title')}
        help={`${t('error.crash')} (${error instanceof Error ? error.message : String(error)})`}
      >
        <Button onClick={() => location.reload()}>{t('common.retry')}</Button>
      </Empty>
    </div>
  )
}
