import { useTranslation } from 'react-i18next'
import { Chip as Badge } from '@/components/Chip'
import { type Chip, chipsOf, type DiffFile, type FileStatus, warningCodes } from '@/domain/diff'

export function FileChips({ file }: { file: DiffFile }) {
  return (
    <span className="flex min-w-0 gap-1 overflow-hidden">
      <StatusBadge status={file.status} />
      {chipsOf(file).map((chip) => (
        <OneChip
          key={'code' in chip ? chip.code : chip.kind}
          chip={chip}
          copied={file.status === 'copied'}
        />
      ))}
    </span>
  )
}

export function useStatusWord(status: FileStatus): string {
  const { t } = useTranslation()
  switch (status) {
    case 'added':
      return t('diff.added')
    case 'deleted':
      return t('diff.deleted')
    case 'modified':
      return t('diff.modified')
    case 'renamed':
      return t('diff.renamedWord')
    case 'copied':
      return t('diff.copiedWord')
    case 'type-changed':
      return t('diff.typeChanged')
  }
}

function StatusBadge({ status }: { status: FileStatus }) {
  const word = useStatusWord(status)
  if (status === 'modified' || status === 'renamed' || status === 'copied') return null
  const tone = status === 'added' ? 'green' : status === 'deleted' ? 'red' : 'amber'
  return <Badge tone={tone}>{word}</Badge>
}

function OneChip({ chip, copied }: { chip: Chip; copied: boolean }) {
  const { t } = useTranslation()
  switch (chip.kind) {
    case 'mode':
      return (
        <Badge tone="amber">
          {chip.from === '' ? t('diff.newMode', { to: chip.to }) : t('diff.mode', chip)}
        </Badge>
      )
    case 'renamed':
      return <Badge>{t(copied ? 'diff.copied' : 'diff.renamed', { n: chip.similarity })}</Badge>
    case 'symlink':
    case 'submodule':
      return <Badge tone="amber">{t(`diff.${chip.kind}`)}</Badge>
    case 'lfs':
    case 'crlf':
    case 'noeol':
      return <Badge>{t(`diff.${chip.kind}`)}</Badge>
    case 'truncated':
      return (
        <Badge tone="amber" why={t('diff.truncated')}>
          {t('common.truncated')}
        </Badge>
      )
    case 'warning':
      return <Warning code={chip.code} />
    case 'warnings':
      return <Badge tone="red">{t('diff.warnings', { count: chip.count, n: chip.count })}</Badge>
  }
}

export function Warning({ code }: { code: string }) {
  const { t } = useTranslation()
  const known = warningCodes.find((one) => one === code)
  const words = known === undefined ? t('diff.warnOther', { code }) : t(`diff.warn.${known}`)
  return <Badge tone="red">{words}</Badge>
}
