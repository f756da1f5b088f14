import { Plus, Search, X } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import type { RepoId } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'

type Props = { filter: string; onFilter(filter: string): void; repo: RepoId | null }

export function BoardBar({ filter, onFilter, repo }: Props) {
  const { t } = useTranslation()
  const show = useDialogs((state) => state.show)
  return (
    <div className="flex items-center gap-3 border-b border-line px-4 py-2">
      <h1 className="text-lg font-semibold whitespace-nowrap">{t('board.title')}</h1>
      <div className="relative ml-auto w-80 min-w-0">
        <Search aria-hidden className="absolute top-1.5 left-2 size-4 text-t4" />
        <input
          data-filter
          type="text"
          aria-label={t('board.filter')}
          placeholder={t('board.filterHint')}
          value={filter}
          onChange={(event) => onFilter(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
          className="h-7 w-full rounded-md border border-line-strong bg-inset pr-8 pl-8 text-base"
        />
        {filter === '' ? null : (
          <Button
            look="ghost"
            aria-label={t('board.clear')}
            size="mini"
            className="absolute top-0.5 right-0.5"
            onClick={() => onFilter('')}
          >
            <X aria-hidden />
          </Button>
        )}
      </div>
      <Button look="solid" onClick={() => show({ kind: 'task', repo })}>
        <Plus aria-hidden />
        {t('board.newTask')}
      </Button>
    </div>
  )
}
