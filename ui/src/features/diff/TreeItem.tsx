import {
  Check,
  ChevronDown,
  ChevronRight,
  FileDiff,
  FileMinus,
  FilePlus,
  FileSymlink,
} from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { plain } from '@/domain/bidi'
import type { DiffFile } from '@/domain/diff'
import type { TreeRow } from '@/domain/tree'
import { useViewed, viewedKey } from '@/store/viewed'
import { useStatusWord } from './FileChips'

const icons = {
  added: FilePlus,
  deleted: FileMinus,
  modified: FileDiff,
  renamed: FileSymlink,
  copied: FileSymlink,
  'type-changed': FileDiff,
}

const colours = {
  added: 'text-green',
  deleted: 'text-red',
  modified: 'text-t3',
  renamed: 'text-t3',
  copied: 'text-t3',
  'type-changed': 'text-amber',
}

type Props = {
  id: string
  row: TreeRow
  file: DiffFile | undefined
  active: boolean
  current: boolean
  onClick(): void
}

/** A row: the focus stays on the tree, which names the active one. */
export function TreeItem({ id, row, file, active, current, onClick }: Props) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: keys are the tree's, which has the focus
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names this row
    <div
      id={id}
      role="treeitem"
      aria-level={row.kind === 'folder' ? 1 : 2}
      aria-setsize={row.size}
      aria-posinset={row.pos}
      aria-expanded={row.kind === 'folder' ? row.open : undefined}
      aria-selected={current}
      onClick={onClick}
      className={cn(
        'flex h-6 w-full cursor-pointer items-center gap-1.5 px-2 text-sm hover:bg-hover',
        current && 'bg-hover',
        active &&
          'outline-blue group-focus-visible:outline-2 group-focus-visible:-outline-offset-2',
      )}
    >
      {row.kind === 'folder' ? (
        <FolderWords path={row.path} open={row.open} />
      ) : file === undefined ? null : (
        <FileWords file={file} name={row.name} />
      )}
    </div>
  )
}

function FolderWords({ path, open }: { path: string; open: boolean }) {
  const { t } = useTranslation()
  const Icon = open ? ChevronDown : ChevronRight
  return (
    <>
      <Icon aria-hidden className="size-3 shrink-0 text-t3" />
      <span className="truncate text-xs text-t3" title={plain(path)}>
        {path === '' ? t('diff.root') : <Safe text={path} />}
      </span>
    </>
  )
}

function FileWords({ file, name }: { file: DiffFile; name: string }) {
  const { t } = useTranslation()
  const word = useStatusWord(file.status)
  const viewed = useViewed((state) => state.ticks[viewedKey(file)] ?? false)
  const Icon = icons[file.status]
  return (
    <>
      <Icon aria-label={word} className={cn('ml-3 size-3.5 shrink-0', colours[file.status])} />
      <span
        title={plain(file.path)}
        className={cn('min-w-0 flex-1 truncate', viewed ? 'text-t3' : 'text-t1')}
      >
        <Safe text={name} />
      </span>
      {viewed ? (
        <Check aria-label={t('diff.viewed')} className="size-3 shrink-0 text-green" />
      ) : null}
    </>
  )
}
