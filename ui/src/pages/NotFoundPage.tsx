import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { Empty } from '@/components/State'

export function NotFoundPage() {
  const { t } = useTranslation()
  return (
    <div className="m-auto">
      <Empty title={t('error.notFound')}>
        <Link to="/" className="text-cyan hover:underline">
          {t('error.home')}
        </Link>
      </Empty>
    </div>
  )
}
