import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Oid } from '@/components/Oid'
import type { Note } from '@/domain/diff'
import { bytes } from '@/domain/time'
import { Warning } from './FileChips'

/** What can be done about a file that is not shown whole. */
export type More = { state: 'more'; show(): void } | { state: 'reading' } | { state: 'end' }

type Props = { note: Note; more: More }

export function NoteRow({ note, more }: Props) {
  return (
    <div className="sticky left-0 flex h-7 w-max items-center gap-2 px-4 font-sans text-sm text-t2">
      <Words note={note} more={more} />
    </div>
  )
}

function Words({ note, more }: Props) {
  const { t, i18n } = useTranslation()
  switch (note.what) {
    case 'binary':
      return (
        <>
          {t('diff.binary')}: {bytes(note.oldSize, i18n.language)} <Oid oid={blank(note.oldOid)} />{' '}
          → {bytes(note.newSize, i18n.language)} <Oid oid={blank(note.newOid)} />
        </>
      )
    case 'empty':
      return t('diff.empty')
    case 'warnings':
      return note.codes.map((code) => <Warning key={code} code={code} />)
    case 'truncated':
      return <Truncated more={more} />
  }
}

function Truncated({ more }: { more: More }) {
  const { t } = useTranslation()
  const words = more.state === 'end' ? t('diff.stillCut') : t('diff.truncated')
  return (
    <>
      <span className="text-amber">{words}</span>
      {more.state === 'end' ? null : (
        <Button
          size="small"
          disabled={more.state === 'reading'}
          onClick={more.state === 'more' ? more.show : undefined}
        >
          {more.state === 'reading' ? t('diff.showing') : t('diff.showAll')}
        </Button>
      )}
    </>
  )
}

/** Git writes an absent side as zeros. */
function blank(oid: string): string {
  return /^0*$/.test(oid) ? '' : oid
}
