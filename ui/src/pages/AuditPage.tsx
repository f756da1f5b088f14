import { useNavigate, useSearch } from '@tanstack/react-router'
import { Radio } from 'lucide-react'
import { Tabs } from 'radix-ui'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { SkeletonLines } from '@/components/State'
import { type AuditFilter, formatFilter, parseFilter } from '@/domain/auditFilter'
import { type AuditPlace, type AuditTab, auditTabs, tabOf } from '@/domain/auditPlace'
import { ExportMenu } from '@/features/audit/ExportMenu'
import { FilterBar, FilterChips } from '@/features/audit/FilterBar'
import { IndexNote } from '@/features/audit/IndexNote'
import { RowsTab } from '@/features/audit/RowsTab'
import { TraceTab } from '@/features/audit/TraceTab'
import { VerifyButton } from '@/features/audit/VerifyButton'
import { WitnessedHead, WitnessFindings } from '@/features/audit/Witnessed'

const views = {
  trace: TraceTab,
  rows: RowsTab,
  metrics: lazy(() =>
    import('@/features/audit/MetricsTab').then((m) => ({ default: m.MetricsTab })),
  ),
  compare: lazy(() =>
    import('@/features/audit/CompareTab').then((m) => ({ default: m.CompareTab })),
  ),
}

/** What a tab cannot be restricted by is said at the chip. */
const ignored: Record<AuditTab, readonly (keyof AuditFilter)[]> = {
  trace: [],
  rows: ['part'],
  metrics: ['kind', 'status', 'part', 'session', 'q'],
  compare: [],
}

export function AuditPage() {
  const { t } = useTranslation()
  const place = useSearch({ from: '/audit' })
  const navigate = useNavigate()
  const filter = parseFilter(place.q ?? '')
  const tab = tabOf(place)
  // Where somebody goes is a step back; how they look at it is not.
  const go = (change: Partial<AuditPlace>, replace = false) =>
    void navigate({
      to: '/audit',
      search: (old) => ({ ...old, view: tab, ...change }),
      replace,
    })
  const onFilter = (next: AuditFilter) => {
    const q = formatFilter(next) || undefined
    if (q !== (formatFilter(filter) || undefined)) go({ q }, true)
  }
  return (
    <Tabs.Root
      value={tab}
      onValueChange={(value) => {
        const next = auditTabs.find((one) => one === value)
        if (next !== undefined) go({ view: next })
      }}
      className="flex min-w-0 flex-1 flex-col"
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4">
        <h1 className="text-lg font-semibold">{t('audit.title')}</h1>
        <Tabs.List aria-label={t('audit.title')} className="flex gap-1">
          {auditTabs.map((one) => (
            <Tabs.Trigger
              key={one}
              value={one}
              className="border-b-2 border-transparent px-2 py-2 text-base text-t3 data-[state=active]:border-blue data-[state=active]:font-medium data-[state=active]:text-t1"
            >
              {t(`trace.tab.${one}`)}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <div className="ml-auto flex min-w-0 items-center gap-2 py-1">
          <WitnessedHead />
          <VerifyButton />
          <ExportMenu filter={filter} />
        </div>
      </div>
      <WitnessFindings />
      {tab === 'compare' ? null : (
        <div className="border-b border-line">
          <div className="flex items-center gap-2 px-4 py-1.5">
            <FilterBar filter={filter} onFilter={onFilter} sums={tab === 'metrics'} />
            {tab === 'metrics' ? null : (
              <LiveSwitch on={place.live === true} onChange={(live) => go({ live }, true)} />
            )}
          </div>
          <IndexNote />
          <FilterChips filter={filter} onFilter={onFilter} ignored={ignored[tab]} />
        </div>
      )}
      {auditTabs.map((one) => {
        const View = views[one]
        return (
          <Tabs.Content
            key={one}
            value={one}
            tabIndex={-1}
            className="flex min-h-0 flex-1 flex-col outline-none"
          >
            <Suspense fallback={<SkeletonLines lines={10} />}>
              <View place={place} filter={filter} go={go} />
            </Suspense>
          </Tabs.Content>
        )
      })}
    </Tabs.Root>
  )
}

/** New rows are shown as they come, until somebody scrolls away. */
function LiveSwitch({ on, onChange }: { on: boolean; onChange(live: true | undefined): void }) {
  const { t } = useTranslation()
  return (
    <Button
      role="switch"
      aria-checked={on}
      title={t('trace.liveHelp')}
      className={on ? 'border-green/40 text-green' : ''}
      onClick={() => onChange(on ? undefined : true)}
    >
      <Radio aria-hidden />
      {t(on ? 'trace.liveOn' : 'trace.live')}
    </Button>
  )
}
