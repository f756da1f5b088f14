import { ShieldAlert, ShieldCheck } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useStatus } from '@/api/status'
import { useLastVerify, useReached, useVerify } from '@/api/verify'
import { Button } from '@/components/Button'
import { cn } from '@/components/cn'
import { useFailure } from '@/components/useFailure'
import type { VerifyReport } from '@/domain/audit'
import { shortId } from '@/domain/model'
import { count } from '@/domain/time'

export function VerifyButton() {
  const { t, i18n } = useTranslation()
  const verify = useVerify()
  const report = useLastVerify().data
  const failed = useFailure()
  const records = useStatus().data?.records ?? 0
  const reached = useReached()
  return (
    <div className="flex items-center gap-2">
      {verify.isPending ? (
        <span role="status" className="flex items-center gap-2 text-t2">
          <progress
            aria-label={t('audit.verify')}
            className="h-1 w-24 accent-blue"
            max={Math.max(records, reached, 1)}
            value={reached === 0 ? undefined : reached}
          />
          {t('audit.verifying', {
            n: count(Math.max(records, reached), i18n.language),
            at: count(reached, i18n.language),
          })}
        </span>
      ) : report === null || report === undefined ? null : (
        <Badge report={report} />
      )}
      <Button
        disabled={verify.isPending}
        onClick={() => verify.mutate(undefined, { onError: failed })}
      >
        <ShieldCheck aria-hidden />
        {t('audit.verify')}
      </Button>
    </div>
  )
}

function Badge({ report }: { report: VerifyReport }) {
  const { t, i18n } = useTranslation()
  const Icon = report.ok ? ShieldCheck : ShieldAlert
  const text = report.ok
    ? t('audit.ok', {
        count: report.records,
        n: count(report.records, i18n.language),
        head: shortId(report.head),
      })
    : t('audit.broken', { n: report.firstBroken, problem: report.problem })
  return (
    <span
      role="status"
      data-verify={report.ok ? 'ok' : 'broken'}
      className={cn('flex items-center gap-1', report.ok ? 'text-green' : 'text-red')}
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      {text}
    </span>
  )
}
