import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { type ExportForm, exportAudit } from '@/api/auditExport'
import { Button } from '@/components/Button'
import { Menu, MenuItem, MenuLabel } from '@/components/Menu'
import { useFailure } from '@/components/useFailure'
import type { AuditFilter } from '@/domain/auditFilter'
import { useToasts } from '@/store/toasts'

const forms = [
  ['calls', { format: 'jsonl', rows: false, content: false }],
  ['callsWhole', { format: 'jsonl', rows: false, content: true }],
  ['rows', { format: 'jsonl', rows: true, content: false }],
  ['otlp', { format: 'otlp', rows: false, content: false }],
  ['otlpWhole', { format: 'otlp', rows: false, content: true }],
] as const satisfies readonly (readonly [string, ExportForm])[]

export function ExportMenu({ filter }: { filter: AuditFilter }) {
  const { t } = useTranslation()
  const show = useToasts((state) => state.show)
  const failed = useFailure()
  const work = useMutation({
    mutationFn: (form: ExportForm) => exportAudit(filter, form),
    onSuccess: () => show(t('trace.exported')),
    onError: failed,
  })
  return (
    <Menu
      label={t('trace.export')}
      trigger={
        <Button disabled={work.isPending} aria-busy={work.isPending}>
          <Download aria-hidden />
          {t(work.isPending ? 'trace.exporting' : 'trace.export')}
        </Button>
      }
    >
      <MenuLabel>{t('trace.exportHelp')}</MenuLabel>
      {forms.map(([name, form]) => (
        <MenuItem key={name} onSelect={() => work.mutate(form)}>
          {t(`trace.exports.${name}`)}
        </MenuItem>
      ))}
    </Menu>
  )
}
