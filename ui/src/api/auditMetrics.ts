import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type AuditFilter, toQuery } from '@/domain/auditFilter'
import type { Group, Metrics, Point, RunDiff, RunSummary, Window } from '@/domain/auditMetrics'
import type { Grouping } from '@/domain/auditPlace'
import { growingKey, toTotals } from './auditTrace'
import { api, unwrap } from './client'
import type { components } from './schema'

type Wire = components['schemas']

function toPoint(wire: Wire['AuditPoint']): Point {
  return { ...toTotals(wire), sessions: wire.sessions, at: new Date(wire.at) }
}

function toGroup(wire: Wire['AuditGroup']): Group {
  return {
    ...toTotals(wire),
    key: wire.key,
    sessions: wire.sessions,
    more: wire.more ?? 0,
    points: (wire.points ?? []).map(toPoint),
  }
}

const groupLimit = 50

/** Sums of calls. A text or a state cannot restrict them. */
export function useMetrics(by: Grouping, window: Window, filter: AuditFilter) {
  const { task, run, stage, agent, model, upstream } = toQuery(filter, new Date())
  const query = {
    by,
    step: window.step,
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
    limit: groupLimit,
    task,
    run,
    stage,
    agent,
    model,
    upstream,
    from: window.from?.toISOString(),
    to: window.to?.toISOString(),
  }
  return useQuery({
    queryKey: [...growingKey, 'metrics', query],
    queryFn: async (): Promise<Metrics> => {
      const wire = await unwrap(api.GET('/api/audit/metrics', { params: { query } }))
      return {
        groups: (wire.groups ?? []).map(toGroup),
        rest: wire.rest ? toGroup(wire.rest) : null,
        all: toGroup(wire.all),
      }
    },
    placeholderData: keepPreviousData,
  })
}

function toSummary(wire: Wire['AuditRunSummary']): RunSummary {
  return {
    ...toTotals(wire),
    run: wire.run,
    task: wire.task,
    template: wire.template,
    agent: wire.agent,
    model: wire.model,
    began: new Date(wire.began),
    ended: new Date(wire.ended),
    wallUs: wire.wall_us,
    stages: wire.stages,
    sessions: wire.sessions,
    roundTrips: wire.tool_round_trips,
  }
}

/** Run b compared with run a. */
export function useRunDiff(a: string, b: string) {
  return useQuery({
    queryKey: [...growingKey, 'diff', a, b],
    enabled: a !== '' && b !== '',
    queryFn: async (): Promise<RunDiff> => {
      const wire = await unwrap(api.GET('/api/audit/diff', { params: { query: { a, b } } }))
      return {
        a: toSummary(wire.a),
        b: toSummary(wire.b),
        figures: wire.figures ?? [],
        verdict: wire.verdict,
      }
    },
  })
}
