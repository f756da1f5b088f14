import { Link } from '@tanstack/react-router'
import { GitCompareArrows } from 'lucide-react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Measured } from '@/components/Mark'
import { Safe } from '@/components/Safe'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import type { Context, Sandbox, Span, StageRef, StageSpan } from '@/domain/auditCall'
import { sameStage } from '@/domain/auditCall'
import { duration } from '@/domain/auditMetrics'
import type { AuditPlace } from '@/domain/auditPlace'
import type { Loaded } from '@/domain/auditTree'
import { bytes, count, full } from '@/domain/time'
import { usd } from '@/domain/usd'
import { EraseButton } from './EraseButton'
import { EvidenceButton } from './EvidenceButton'
import { Facts, RowLink, Scroll } from './Facts'
import { useNames } from './useNames'

export function ContextDetail({ context }: { context: Context }) {
  const { t, i18n } = useTranslation()
  const names = useNames()
  const name = names.task(context.task)
  return (
    <Scroll label={t('trace.context')}>
      <Title kind={t('trace.context')}>
        <Safe text={name ?? t('trace.noTask')} />
      </Title>
      {context.task === '' ? (
        <p className="text-t3">{t('trace.noTaskHelp')}</p>
      ) : (
        <div className="flex flex-wrap items-center gap-3">
          <Link
            to="/tasks/$taskId"
            params={{ taskId: context.task }}
            className="text-cyan hover:underline"
          >
            {t('trace.openTask')}
          </Link>
          <EvidenceButton of={{ task: context.task }} />
          <EraseButton key={context.task} of={{ task: context.task }} />
        </div>
      )}
      <Sums
        span={context}
        more={[
          [t('trace.runs'), count(context.runs, i18n.language)],
          [t('trace.stages'), count(context.stages, i18n.language)],
        ]}
      />
    </Scroll>
  )
}

type StageProps = {
  loaded: Loaded<StageSpan>
  stage: StageRef
  go(change: Partial<AuditPlace>): void
}

export function StageDetail({ loaded, stage, go }: StageProps) {
  const { t } = useTranslation()
  if (loaded.state === 'loading') return <SkeletonLines lines={8} />
  if (loaded.state === 'error') return <ErrorNote error={loaded.error} />
  const found = loaded.items.find((one) => sameStage(one, stage))
  if (found === undefined) return <Empty title={t('trace.gone')} help={t('trace.goneHelp')} />
  return <StageFacts stage={found} go={go} />
}

function StageFacts({ stage, go }: { stage: StageSpan; go: StageProps['go'] }) {
  const { t } = useTranslation()
  const names = useNames()
  return (
    <Scroll label={t('trace.stage')}>
      <Title kind={t('trace.stage')}>
        <Safe text={names.stage(stage)} />
      </Title>
      {stage.run === '' ? null : (
        <div className="flex flex-wrap gap-2">
          <Button size="small" onClick={() => go({ view: 'compare', b: stage.run })}>
            <GitCompareArrows aria-hidden />
            {t('trace.compareRun')}
          </Button>
          <EvidenceButton of={{ run: stage.run }} />
          <EraseButton key={stage.run} of={{ run: stage.run }} />
        </div>
      )}
      <Sums
        span={stage}
        more={[
          [t('audit.agent'), stage.agent],
          [t('trace.template'), stage.template],
          [t('audit.run'), stage.run],
          [t('audit.stage'), stage.stage],
        ]}
      />
      {stage.sandboxes.length === 0 ? null : (
        <section>
          <h3 className="pb-1 font-medium">{t('trace.sandboxes')}</h3>
          <ul className="flex flex-col gap-2">
            {stage.sandboxes.map((one) => (
              <SandboxItem key={one.session} sandbox={one} />
            ))}
          </ul>
        </section>
      )}
    </Scroll>
  )
}

function SandboxItem({ sandbox }: { sandbox: Sandbox }) {
  const { t, i18n } = useTranslation()
  return (
    <li className="rounded-md border border-line p-2">
      <Facts
        pairs={[
          [t('audit.session'), sandbox.session],
          [t('trace.parent'), sandbox.parent],
          [t('audit.agent'), sandbox.agent],
          [t('audit.time'), full(sandbox.began, i18n.language)],
          [
            t('trace.rows'),
            <span key="rows" className="flex gap-2">
              <RowLink seq={sandbox.first} />
              <RowLink seq={sandbox.last} />
            </span>,
          ],
        ]}
      />
    </li>
  )
}

function Title({ kind, children }: { kind: string; children: ReactNode }) {
  return (
    <h2 className="text-md font-semibold break-words">
      <span className="block text-xs font-normal text-t3">{kind}</span>
      {children}
    </h2>
  )
}

function Sums({ span, more }: { span: Span; more: [string, ReactNode][] }) {
  const { t, i18n } = useTranslation()
  const n = (value: number) => (value === 0 ? '' : count(value, i18n.language))
  return (
    <>
      <Facts
        pairs={[
          [t('trace.began'), full(span.began, i18n.language)],
          [t('trace.ended'), full(span.ended, i18n.language)],
          [t('trace.calls'), count(span.calls, i18n.language)],
          [t('trace.call.failed'), n(span.failed)],
          [t('trace.call.refused'), n(span.refused)],
          [t('trace.openCall'), n(span.open)],
          [t('trace.toolCalls'), n(span.tools)],
          [t('trace.read'), count(span.input, i18n.language)],
          [t('trace.fromCache'), n(span.cacheRead)],
          [t('trace.written'), count(span.output, i18n.language)],
          [t('trace.reasoning'), n(span.reasoning)],
          [t('trace.cost'), usd(span.cost, i18n.language)],
          [t('trace.unmetered'), n(span.unmetered)],
          [t('trace.inCalls'), duration(span.durationUs, i18n.language)],
          [
            `${t('audit.request')} / ${t('audit.response')}`,
            `${bytes(span.bytesIn, i18n.language)} / ${bytes(span.bytesOut, i18n.language)}`,
          ],
          [t('trace.sessions'), n(span.sessions)],
          ...more,
          [
            t('trace.rows'),
            <span key="rows" className="flex gap-2">
              <RowLink seq={span.first} />
              <RowLink seq={span.last} />
            </span>,
          ],
        ]}
      />
      <p>
        <Measured />
      </p>
    </>
  )
}
