import { ChevronDown, ChevronRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { plain } from '@/domain/bidi'
import type { DiffFile } from '@/domain/diff'
import { count } from '@/domain/time'
import { useViewed, viewedKey } from '@/store/viewed'
import { FileChips } from './FileChips'

type Props = { file: DiffFile; folded: boolean; onFold(path: string): void; here: boolean }

export function FileRow({ file, folded, onFold, here }: Props) {
  const { t, i18n } = useTranslation()
  const key = viewedKey(file)
  const viewed = useViewed((state) => state.ticks[key] ?? false)
  const toggle = useViewed((state) => state.toggle)
  const Fold = folded ? ChevronRight : ChevronDown
  return (
    <div
      className={cn(
        'sticky left-0 flex h-[34px] w-full max-w-full items-center gap-2 border-y border-line bg-card px-1 font-sans',
        here && 'border-l-2 border-l-blue',
      )}
    >
      <Button
        look="ghost"
        size="mini"
        aria-expanded={!folded}
        aria-label={t('diff.collapse', { path: plain(file.path) })}
        onClick={() => onFold(file.path)}
      >
        <Fold aria-hidden />
      </Button>
      <span title={plain(file.path)} className="min-w-24 truncate font-mono text-sm font-medium">
        {file.oldPath !== '' && file.oldPath !== file.path ? (
          <span title={plain(file.oldPath)} className="text-t3">
            <Safe text={file.oldPath} /> →{' '}
          </span>
        ) : null}
        <Safe text={file.path} />
      </span>
      <span className="shrink-0 font-mono text-xs">
        <span className="text-green">+{count(file.added, i18n.language)}</span>{' '}
        <span className="text-red">−{count(file.deleted, i18n.language)}</span>
      </span>
      <FileChips file={file} />
      <label className="mr-2 ml-auto flex shrink-0 items-center gap-1 text-sm text-t3">
        <input
          type="checkbox"
          checked={viewed}
          aria-label={t('diff.viewedFile', { path: plain(file.path) })}
          onChange={() => {
            toggle(key)
            if (viewed === folded) onFold(file.path)
          }}
        />
        {t('diff.viewed')}
      </label>
    </div>
  )
}
