import { ArrowLeftRight } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { useRunDiff } from '@/api/auditMetrics'
import { useFacets } from '@/api/auditTrace'
import { Button } from '@/components/Button'
import { Measured } from '@/components/Mark'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { RunDiff } from '@/domain/auditMetrics'
import { Scroll } from './Facts'
import { FigureTable } from './FigureTable'
import { RunField } from './RunField'
import type { TabProps } from './TraceTab'
import { VerdictMark } from './VerdictMark'

export function CompareTab({ place, go }: TabProps) {
  const { t } = useTranslation()
  const facets = useFacets()
  const [a, b] = [place.a ?? '', place.b ?? '']
  const runs = facets.data?.runs ?? []
  const diff = useRunDiff(a, b)
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-end gap-3 border-b border-line px-4 py-2">
        <RunField
          label={t('trace.runA')}
          value={a}
          runs={runs}
          onRun={(run) => go({ a: run || undefined }, true)}
        />
        <Button
          size="icon"
          aria-label={t('trace.swap')}
          title={t('trace.swap')}
          disabled={a === '' && b === ''}
          onClick={() => go({ a: b || undefined, b: a || undefined }, true)}
        >
          <ArrowLeftRight aria-hidden />
        </Button>
        <RunField
          label={t('trace.runB')}
          value={b}
          runs={runs}
          onRun={(run) => go({ b: run || undefined }, true)}
        />
      </div>
      {a === '' || b === '' ? (
        <Empty
          title={t(runs.length < 2 ? 'trace.fewRuns' : 'trace.chooseRuns')}
          help={t('trace.chooseRunsHelp')}
        />
      ) : diff.isError ? (
        <ErrorNote error={diff.error} onRetry={() => void diff.refetch()} />
      ) : diff.isPending ? (
        <SkeletonLines lines={12} />
      ) : (
        <Scroll label={t('trace.tab.compare')}>
          <VerdictLine diff={diff.data} />
          <FigureTable diff={diff.data} />
        </Scroll>
      )}
    </div>
  )
}

function VerdictLine({ diff }: { diff: RunDiff }) {
  const { t } = useTranslation()
  return (
    <div className="flex flex-wrap items-center gap-3">
      <VerdictMark verdict={diff.verdict} size="large" />
      <span className="text-t3">{t('trace.verdictHelp')}</span>
      <Measured />
    </div>
  )
}
