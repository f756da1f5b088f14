import { Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type AuditFilter, formatFilter, parseFilter, recordKinds } from '@/domain/audit'

type Props = { filter: AuditFilter; onFilter(filter: AuditFilter): void }

/** The text is the filter: the kind picker only writes into it. */
export function AuditFilters({ filter, onFilter }: Props) {
  const { t } = useTranslation()
  const formatted = formatFilter(filter)
  const [text, setText] = useState(formatted)
  useEffect(() => setText(formatted), [formatted])
  return (
    <form
      className="flex items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        onFilter(parseFilter(text))
      }}
    >
      <div className="relative w-80">
        <Search aria-hidden className="absolute top-1.5 left-2 size-4 text-t4" />
        <input
          data-filter
          type="search"
          aria-label={t('audit.filter')}
          placeholder={t('audit.filterHint')}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => onFilter(parseFilter(text))}
          className="h-7 w-full rounded-md border border-line-strong bg-inset pr-2 pl-8 text-base"
        />
      </div>
      <select
        aria-label={t('audit.kind')}
        value={filter.kind}
        onChange={(event) => onFilter({ ...filter, kind: event.target.value })}
        className="h-7 rounded-md border border-line-strong bg-inset px-2 text-base"
      >
        <option value="">{t('audit.allKinds')}</option>
        {recordKinds.map((kind) => (
          <option key={kind} value={kind}>
            {t(`audit.kinds.${kind}`)}
          </option>
        ))}
      </select>
    </form>
  )
}
