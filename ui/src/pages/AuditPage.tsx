import { useNavigate, useSearch } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { formatFilter, parseFilter } from '@/domain/audit'
import { AuditDetail } from '@/features/audit/AuditDetail'
import { AuditFilters } from '@/features/audit/AuditFilters'
import { AuditList } from '@/features/audit/AuditList'
import { VerifyButton } from '@/features/audit/VerifyButton'

export function AuditPage() {
  const { t } = useTranslation()
  const { q = '', seq = 0 } = useSearch({ from: '/audit' })
  const navigate = useNavigate()
  const filter = parseFilter(q)
  return (
    <div className="flex min-w-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-3 border-b border-line px-4 py-2">
        <h1 className="text-lg font-semibold">{t('audit.title')}</h1>
        <AuditFilters
          filter={filter}
          onFilter={(next) =>
            void navigate({
              to: '/audit',
              search: (old) => ({ ...old, q: formatFilter(next) || undefined }),
              replace: true,
            })
          }
        />
        <div className="ml-auto">
          <VerifyButton />
        </div>
      </div>
      <div className="flex min-h-0 flex-1">
        <div className="flex min-w-0 flex-1 flex-col">
          <AuditList
            filter={filter}
            selected={seq}
            onSelect={(next) =>
              void navigate({
                to: '/audit',
                search: (old) => ({ ...old, seq: next }),
                replace: true,
              })
            }
          />
        </div>
        {seq === 0 ? null : (
          <AuditDetail
            key={seq}
            seq={seq}
            onClose={() =>
              void navigate({ to: '/audit', search: (old) => ({ ...old, seq: undefined }) })
            }
          />
        )}
      </div>
    </div>
  )
}
