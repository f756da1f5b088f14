import { Check, FileDiff, FileMinus, FilePlus, FileSymlink } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { cn } from '@/components/cn'
import { Safe } from '@/components/Safe'
import { type DiffFile, type DiffSet, folders } from '@/domain/diff'
import { useViewed, viewedKey } from '@/store/viewed'
import { useStatusWord } from './FileChips'

type Props = { set: DiffSet; current: number; onFile(file: number): void }

export function FileTree({ set, current, onFile }: Props) {
  const { t } = useTranslation()
  return (
    <nav
      aria-label={t('diff.tree')}
      className="w-56 shrink-0 overflow-auto border-r border-line py-2"
    >
      {folders(set.files).map((folder) => (
        <section key={folder.path}>
          <h3 className="truncate px-3 pt-1 text-xs text-t3" title={folder.path}>
            {folder.path === '' ? t('diff.root') : <Safe text={folder.path} />}
          </h3>
          <ul>
            {folder.files.map(({ index, name }) => {
              const file = set.files[index]
              return file === undefined ? null : (
                <li key={file.path}>
                  <Entry
                    file={file}
                    name={name}
                    active={index === current}
                    onClick={() => onFile(index)}
                  />
                </li>
              )
            })}
          </ul>
        </section>
      ))}
    </nav>
  )
}

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

type EntryProps = { file: DiffFile; name: string; active: boolean; onClick(): void }

function Entry({ file, name, active, onClick }: EntryProps) {
  const { t } = useTranslation()
  const word = useStatusWord(file.status)
  const viewed = useViewed((state) => state.ticks[viewedKey(file)] ?? false)
  const Icon = icons[file.status]
  return (
    <button
      type="button"
      title={file.path}
      aria-current={active ? 'true' : undefined}
      onClick={onClick}
      className={cn(
        'flex h-6 w-full items-center gap-1.5 px-3 text-left text-sm hover:bg-hover',
        active && 'bg-hover',
        viewed ? 'text-t3' : 'text-t1',
      )}
    >
      <Icon aria-label={word} className={cn('size-3.5 shrink-0', colours[file.status])} />
      <span className="min-w-0 flex-1 truncate">
        <Safe text={name} />
      </span>
      {viewed ? <Check aria-label={t('diff.viewed')} className="size-3 text-green" /> : null}
    </button>
  )
}
