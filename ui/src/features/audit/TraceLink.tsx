import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import type { AuditRow } from '@/domain/audit'
import { messageOf } from '@/domain/auditCall'
import { selected } from '@/domain/auditPlace'

/** From a row of a call to the message it is part of. */
export function TraceLink({ row }: { row: AuditRow }) {
  const { t } = useTranslation()
  if (!['intent', 'outcome', 'refusal'].includes(row.kind)) return null
  const kind = row.attrs.find(([key]) => key === 'class')?.[1] ?? ''
  const refused = row.kind === 'refusal'
  const seq = row.kind === 'outcome' && row.ref > 0 ? row.ref : row.seq
  // An outcome does not say what kind of call it ends: its stage leads there.
  const message =
    kind === '' && !refused
      ? undefined
      : messageOf({ seq, class: kind, state: refused ? 'refused' : 'ok' })
  return (
    <Link
      to="/audit"
      search={{ ...selected(row, message), view: 'trace', seq }}
      className="self-start text-cyan hover:underline"
    >
      {t('trace.showInTrace')}
    </Link>
  )
}
