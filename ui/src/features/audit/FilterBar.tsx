import { Filter, Search, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useFacets } from '@/api/auditTrace'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { Menu, MenuItem, MenuLabel } from '@/components/Menu'
import { Safe } from '@/components/Safe'
import { recordKinds } from '@/domain/audit'
import {
  type AuditFilter,
  type FilterField,
  filterFields,
  formatFilter,
  parseFilter,
  partWords,
  statusWords,
  wrongFields,
} from '@/domain/auditFilter'

type Props = { filter: AuditFilter; onFilter(filter: AuditFilter): void }

type BarProps = Props & {
  /** Sums know no kinds of record and no words. */
  sums: boolean
}

/** The text is the filter: pickers and chips only write into it. */
export function FilterBar({ filter, onFilter, sums }: BarProps) {
  const { t } = useTranslation()
  const formatted = formatFilter(filter)
  const [text, setText] = useState(formatted)
  useEffect(() => setText(formatted), [formatted])
  return (
    <form
      role="search"
      className="flex min-w-0 flex-1 items-center gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        onFilter(parseFilter(text))
      }}
    >
      <div className="relative max-w-[560px] min-w-40 flex-1">
        <Search aria-hidden className="absolute top-1.5 left-2 size-4 text-t4" />
        <input
          data-filter
          type="search"
          aria-label={t('audit.filter')}
          placeholder={t('trace.filterHint')}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => onFilter(parseFilter(text))}
          className="h-7 w-full rounded-md border border-line-strong bg-inset pr-2 pl-8 text-base"
        />
      </div>
      {sums ? null : (
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
      )}
      <AddMenu filter={filter} onFilter={onFilter} sums={sums} />
    </form>
  )
}

const times = ['15m', '1h', '1d', '7d'] as const
const shown = 12

/** What filters can be set to, from what the log holds. */
function AddMenu({ filter, onFilter, sums }: BarProps) {
  const { t } = useTranslation()
  const facets = useFacets().data
  const ofCalls: [FilterField, readonly string[]][] = [
    ['status', statusWords],
    ['part', partWords],
    ['since', times],
  ]
  const groups: [FilterField, readonly string[]][] = [
    ...(sums ? [] : ofCalls),
    ['agent', facets?.agents ?? []],
    ['model', facets?.models ?? []],
    ['upstream', facets?.upstreams ?? []],
  ]
  return (
    <Menu
      label={t('trace.addFilter')}
      trigger={
        <Button size="icon" look="ghost" aria-label={t('trace.addFilter')}>
          <Filter aria-hidden />
        </Button>
      }
    >
      <div className="max-h-[60vh] overflow-y-auto">
        {groups
          .filter(([, values]) => values.length > 0)
          .map(([field, values]) => (
            <div key={field}>
              <MenuLabel>{t(`trace.field.${field}`)}</MenuLabel>
              {values.slice(0, shown).map((value) => (
                <MenuItem
                  key={value}
                  checked={filter[field] === value}
                  onSelect={() =>
                    onFilter({ ...filter, [field]: filter[field] === value ? '' : value })
                  }
                >
                  <span className="truncate font-mono">
                    <Safe text={value} />
                  </span>
                </MenuItem>
              ))}
            </div>
          ))}
      </div>
    </Menu>
  )
}

type ChipsProps = Props & {
  /** Fields that what is shown cannot be restricted by. */
  ignored: readonly (FilterField | 'q')[]
}

/** One chip for each restriction, to take it away; what cannot be meant says so. */
export function FilterChips({ filter, onFilter, ignored }: ChipsProps) {
  const { t } = useTranslation()
  const wrong = wrongFields(filter)
  const names = [...filterFields, 'q' as const].filter((name) => filter[name] !== '')
  if (names.length === 0) return null
  return (
    <ul aria-label={t('trace.filters')} className="flex flex-wrap gap-1.5 px-4 pb-1.5">
      {names.map((name) => {
        const bad = wrong.some((one) => one === name)
        const unused = ignored.includes(name)
        const why = bad ? t('trace.wrongValue') : unused ? t('trace.notHere') : ''
        return (
          <li
            key={name}
            className={cn(
              'flex h-6 max-w-80 items-center gap-1 rounded-sm border pl-1.5 text-sm',
              bad ? 'border-red/40 bg-red-soft' : 'border-line-strong bg-card',
            )}
          >
            <span className="shrink-0 text-t3">{t(`trace.field.${name}`)}</span>
            <span className={cn('truncate font-mono', unused && 'line-through')}>
              <Safe text={filter[name]} />
            </span>
            {why === '' ? null : (
              <span className={cn('shrink-0 text-xs', bad ? 'text-red' : 'text-t3')}>{why}</span>
            )}
            <button
              type="button"
              aria-label={t('trace.removeFilter', { name: t(`trace.field.${name}`) })}
              onClick={() => onFilter({ ...filter, [name]: '' })}
              className="flex size-5 items-center justify-center rounded-sm text-t3 hover:bg-hover hover:text-t1"
            >
              <X aria-hidden className="size-3" />
            </button>
          </li>
        )
      })}
    </ul>
  )
}
