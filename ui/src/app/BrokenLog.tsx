import { FileWarning } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRestartLog, useStatus } from '@/api/status'
import { errorText } from '@/components/errorText'
import { Safe } from '@/components/Safe'
import { Sure } from '@/components/Sure'
import { useToasts } from '@/store/toasts'
import { useWindow } from '@/store/window'

/** Says where the log is broken, what that stops, and lets the person decide. */
export function BrokenLog() {
  const { t } = useTranslation()
  const online = useWindow((state) => state.online)
  const broken = useStatus().data?.broken
  const restart = useRestartLog()
  const toast = useToasts((state) => state.show)
  if (!online || broken === undefined) return null
  return (
    <div
      role="alert"
      className="flex items-start gap-2 border-b border-red/40 bg-red-soft px-4 py-2 text-t1"
    >
      <FileWarning aria-hidden className="mt-0.5 size-4 shrink-0 text-red" />
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <p>
          <strong className="font-semibold text-red">
            {t('broken.title', { row: broken.row })}
          </strong>{' '}
          {t('broken.what', { rows: broken.rows })}
        </p>
        <p className="text-sm text-t3">
          <Safe text={`${broken.file}:${broken.offset} ${broken.cause}`} />
        </p>
        {restart.error === null ? null : (
          <p className="text-sm text-red">
            <Safe text={errorText(t, restart.error)} />
          </p>
        )}
      </div>
      <Sure
        label={t('broken.restart')}
        question={t('broken.sure')}
        busy={restart.isPending}
        onYes={() =>
          restart.mutate(broken, {
            onSuccess: (kept) => toast(t('broken.done', { kept })),
          })
        }
      />
    </div>
  )
}
