import { type AuditFilter, toQuery } from '@/domain/auditFilter'
import { api, unwrap } from './client'

export type ExportForm = { format: 'jsonl' | 'otlp'; rows: boolean; content: boolean }

type Download = Promise<{ data?: Blob; error?: unknown; response: Response }>

/**
 * The log as a file, under the filter that is shown. The bearer is in no
 * address, so that none is left in a history: the answer is read, then saved.
 */
export async function exportAudit(filter: AuditFilter, form: ExportForm): Promise<void> {
  const blob = await unwrap(
    api.GET('/api/audit/export', {
      params: { query: { ...toQuery(filter, new Date()), ...form } },
      parseAs: 'blob',
    }) as Download,
  )
  save(blob, form.format === 'otlp' ? 'moeca-traces.jsonl' : 'moeca-audit.jsonl')
}

/** One file that moeca-verify checks alone. */
export async function downloadEvidence(of: { run: string } | { task: string }): Promise<void> {
  const blob = await unwrap(
    api.GET('/api/audit/bundle', { params: { query: of }, parseAs: 'blob' }) as Download,
  )
  save(blob, 'moeca-evidence.tar')
}

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has taken the data by the time the next task runs.
  setTimeout(() => URL.revokeObjectURL(url), 0)
}
