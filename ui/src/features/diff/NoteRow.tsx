import { useTranslation } from 'react-i18next'
import { Oid } from '@/components/Oid'
import type { Note } from '@/domain/diff'
import { bytes } from '@/domain/time'

export function NoteRow({ note }: { note: Note }) {
  return (
    <div className="sticky left-0 flex h-7 w-max items-center gap-2 px-4 font-sans text-sm text-t2">
      <Words note={note} />
    </div>
  )
}

function Words({ note }: { note: Note }) {
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
    case 'truncated':
      return <span className="text-amber">{t('diff.truncated')}</span>
  }
}

/** Git writes an absent side as zeros. */
function blank(oid: string): string {
  return /^0*$/.test(oid) ? '' : oid
}
