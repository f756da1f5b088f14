import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useAuditRow } from '@/api/audit'
import { Chip } from '@/components/Chip'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { count, full } from '@/domain/time'
import { Bodies } from './Bodies'
import { Facts, RowLink } from './Facts'
import { KindChip } from './KindChip'

/** The rows of the log behind a message: their place in the chain, and what passed, raw. */
export function Proof({ seqs }: { seqs: readonly number[] }) {
  const { t } = useTranslation()
  return (
    <section className="flex flex-col gap-1">
      <h3 className="font-medium">{t('trace.proof')}</h3>
      {seqs.map((seq) => (
        <Row key={seq} seq={seq} open={seqs.length === 1} />
      ))}
    </section>
  )
}

function Row({ seq, open }: { seq: number; open: boolean }) {
  const { t, i18n } = useTranslation()
  return (
    <Fold
      title={t('trace.row', { n: count(seq, i18n.language) })}
      start={open}
      inside={() => <RowFacts seq={seq} />}
    />
  )
}

function RowFacts({ seq }: { seq: number }) {
  const { t, i18n } = useTranslation()
  const row = useAuditRow(seq)
  if (row.isError) return <ErrorNote error={row.error} onRetry={() => void row.refetch()} />
  if (row.isPending) return <SkeletonLines lines={4} />
  const it = row.data
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center gap-2">
        <KindChip kind={it.kind} />
        <RowLink seq={seq} />
        {it.partial ? (
          <Chip tone="amber" why={t('trace.partialWhy')}>
            {t('trace.partial')}
          </Chip>
        ) : null}
      </div>
      <Facts
        pairs={[
          [t('audit.time'), full(it.time, i18n.language)],
          [t('audit.source'), it.source],
          [t('audit.gate'), it.gate],
          [t('trace.reason'), it.reason],
          [t('audit.hash'), it.hash],
          [t('audit.prev'), it.prev],
        ]}
      />
      {it.hasBody ? <Fold title={t('trace.raw')} inside={() => <Bodies seq={seq} />} /> : null}
    </div>
  )
}

type FoldProps = { title: string; start?: boolean; inside(): ReactNode }

/** What is folded is not read before somebody opens it. */
function Fold({ title, start = false, inside }: FoldProps) {
  const [open, setOpen] = useState(start)
  const Icon = open ? ChevronDown : ChevronRight
  return (
    <div className="rounded-md border border-line">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex h-7 w-full items-center gap-1.5 px-2 text-sm text-t2 hover:bg-hover"
      >
        <Icon aria-hidden className="size-3" />
        {title}
      </button>
      {open ? <div className="flex flex-col gap-2 border-t border-line p-2">{inside()}</div> : null}
    </div>
  )
}
