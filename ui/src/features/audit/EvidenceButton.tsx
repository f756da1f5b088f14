import { useMutation } from '@tanstack/react-query'
import { PackageCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { downloadEvidence } from '@/api/auditExport'
import { Button } from '@/components/Button'
import { useFailure } from '@/components/useFailure'
import { useToasts } from '@/store/toasts'

/** The records of a run or a task with their proofs, for somebody who trusts nobody. */
export function EvidenceButton({ of }: { of: { run: string } | { task: string } }) {
  const { t } = useTranslation()
  const show = useToasts((state) => state.show)
  const failed = useFailure()
  const work = useMutation({
    mutationFn: () => downloadEvidence(of),
    onSuccess: () => show(t('trace.exported')),
    onError: failed,
  })
  return (
    <Button
      size="small"
      disabled={work.isPending}
      aria-busy={work.isPending}
      title={t('trace.evidenceHelp')}
      onClick={() => work.mutate()}
    >
      <PackageCheck aria-hidden />
      {t(work.isPending ? 'trace.exporting' : 'trace.evidence')}
    </Button>
  )
}
