import { useInfiniteQuery, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Call, Context, Span, StageRef, StageSpan } from '@/domain/auditCall'
import {
  type AuditFilter,
  longestWords,
  noFilter,
  toQuery,
  wrongFields,
} from '@/domain/auditFilter'
import type { Message } from '@/domain/auditMessage'
import { toWire } from '@/domain/auditPlace'
import type { Loaded } from '@/domain/auditTree'
import { toMessage } from './auditWire'
import { api, unwrap } from './client'
import type { components } from './schema'
import { auditHeadKey } from './verify'

type Wire = components['schemas']

/** What new rows of the log can change. */
export const growingKey = ['audit', 'growing'] as const

type WireSpan = Pick<
  Wire['AuditContext'],
  Exclude<keyof Wire['AuditContext'], 'task' | 'runs' | 'stages'>
>

export function toTotals(wire: Omit<WireSpan, 'first' | 'last' | 'began' | 'ended' | 'sessions'>) {
  return {
    calls: wire.calls,
    open: wire.open,
    failed: wire.failed,
    refused: wire.refused,
    unmetered: wire.unmetered,
    tools: wire.tools,
    input: wire.tokens_in,
    output: wire.tokens_out,
    cacheRead: wire.cache_read,
    cacheWrite: wire.cache_write,
    reasoning: wire.reasoning,
    searches: wire.server_tools,
    cost: wire.cost_nano,
    durationUs: wire.duration_us,
    bytesIn: wire.bytes_in,
    bytesOut: wire.bytes_out,
  }
}

function toSpan(wire: WireSpan): Span {
  return {
    ...toTotals(wire),
    first: wire.first,
    last: wire.last,
    began: new Date(wire.began),
    ended: new Date(wire.ended),
    sessions: wire.sessions,
  }
}

function toContext(wire: Wire['AuditContext']): Context {
  return { ...toSpan(wire), task: wire.task, runs: wire.runs, stages: wire.stages }
}

function toStage(wire: Wire['AuditStage']): StageSpan {
  return {
    ...toSpan(wire),
    task: wire.task,
    run: wire.run,
    stage: wire.stage,
    agent: wire.agent,
    template: wire.template,
    sandboxes: (wire.nodes ?? []).map((node) => ({
      session: node.session,
      parent: node.parent ?? '',
      agent: node.agent ?? '',
      template: node.template ?? '',
      first: node.first,
      last: node.last,
      began: new Date(node.began),
      ended: new Date(node.ended),
    })),
  }
}

function toCall(wire: Wire['AuditCall']): Call {
  return {
    seq: wire.seq,
    outcome: wire.outcome ?? 0,
    state: wire.state,
    time: new Date(wire.time),
    durationUs: wire.duration_us,
    task: wire.task ?? '',
    run: wire.run ?? '',
    stage: wire.stage ?? '',
    agent: wire.agent ?? '',
    upstream: wire.upstream ?? '',
    class: wire.class ?? '',
    method: wire.method ?? '',
    target: wire.target ?? '',
    model: wire.model ?? '',
    gate: wire.gate ?? '',
    reason: wire.reason ?? '',
    status: wire.status ?? 0,
    result: wire.result ?? '',
    count: wire.count,
    input: wire.tokens_in,
    output: wire.tokens_out,
    cost: wire.cost_nano,
    scripted: wire.scripted,
    replayed: wire.replayed,
    partial: wire.partial,
  }
}

const contextPage = 100

export function useContexts(filter: AuditFilter) {
  const query = toQuery(filter, new Date())
  return useInfiniteQuery({
    queryKey: [...growingKey, 'contexts', query],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) => {
      const wire = await unwrap(
        api.GET('/api/audit/contexts', {
          params: { query: { ...query, cursor: pageParam, limit: contextPage } },
          signal,
        }),
      )
      return { items: (wire.items ?? []).map(toContext), next: wire.next ?? '', count: wire.count }
    },
    getNextPageParam: (last) => last.next || undefined,
  })
}

/** The stages of every task that is open in the tree. */
export function useStages(tasks: readonly string[], filter: AuditFilter) {
  const { task: _task, ...query } = toQuery(filter, new Date())
  const results = useQueries({
    queries: tasks.map((task) => ({
      queryKey: [...growingKey, 'stages', task, query],
      queryFn: async () => {
        const wire = await unwrap(
          api.GET('/api/audit/contexts/{task}/stages', {
            params: { path: { task: toWire(task) }, query },
          }),
        )
        return (wire.stages ?? []).map(toStage)
      },
    })),
  })
  return (task: string): Loaded<StageSpan> => {
    const result = results[tasks.indexOf(task)]
    if (result?.data !== undefined)
      return { state: 'ready', items: result.data, more: false, note: '' }
    if (result?.error) return { state: 'error', error: result.error }
    return { state: 'loading' }
  }
}

/** A page of a stage's messages: those after one, from the first where it is empty. */
export type MessagePage = { stage: StageRef; after: string }

type Page = { items: Message[]; next: string; total: number; note: string }

const messagePage = 100

function stageQuery(stage: StageRef) {
  return { task: toWire(stage.task), run: toWire(stage.run) }
}

export function useMessages(
  pages: readonly MessagePage[],
  filter: Pick<AuditFilter, 'part' | 'q'>,
): (Page | Error | undefined)[] {
  // As long as the host takes them.
  const part = wrongFields({ ...noFilter, part: filter.part }).length > 0 ? '' : filter.part
  const q = filter.q.slice(0, longestWords)
  const results = useQueries({
    queries: pages.map(({ stage, after }) => ({
      queryKey: [...growingKey, 'messages', stage, after, part, q],
      queryFn: async (): Promise<Page> => {
        const wire = await unwrap(
          api.GET('/api/audit/stages/{stage}/messages', {
            params: {
              path: { stage: toWire(stage.stage) },
              query: { ...stageQuery(stage), part, q, after, limit: messagePage },
            },
          }),
        )
        return {
          items: (wire.items ?? []).map(toMessage),
          next: wire.next ?? '',
          total: wire.total,
          note: wire.problem ?? '',
        }
      },
    })),
  })
  return results.map((result) => result.data ?? result.error ?? undefined)
}

/** One message with all of its parts, and the message its parts point to. */
export function useMessage(stage: StageRef, id: string) {
  return useQuery({
    queryKey: [...growingKey, 'message', stage, id],
    queryFn: async () =>
      toMessage(
        await unwrap(
          api.GET('/api/audit/stages/{stage}/messages/{id}', {
            params: { path: { stage: toWire(stage.stage), id }, query: stageQuery(stage) },
          }),
        ),
      ),
    enabled: id !== '',
  })
}

const callPage = 500

/** Calls of a task or a stage, oldest first. */
export function useCalls(of: StageRef | { task: string }, filter: AuditFilter) {
  const query = {
    ...toQuery(filter, new Date()),
    ...('stage' in of ? { ...stageQuery(of), stage: toWire(of.stage) } : { task: toWire(of.task) }),
  }
  return useInfiniteQuery({
    queryKey: [...growingKey, 'calls', query],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) => {
      const wire = await unwrap(
        api.GET('/api/audit/calls', {
          params: { query: { ...query, cursor: pageParam, limit: callPage, order: 'oldest' } },
          signal,
        }),
      )
      return { items: (wire.items ?? []).map(toCall), next: wire.next ?? '', count: wire.count }
    },
    getNextPageParam: (last) => last.next || undefined,
  })
}

export function useFacets() {
  return useQuery({
    queryKey: ['audit', 'facets'],
    queryFn: async () => {
      const wire = await unwrap(api.GET('/api/audit/facets'))
      return {
        agents: wire.agents ?? [],
        models: wire.models ?? [],
        upstreams: wire.upstreams ?? [],
        runs: wire.runs ?? [],
      }
    },
  })
}

export type IndexState = { head: number; last: number; problem: string }

/** How far the index of the log is; the host's events move its head. */
export function useIndexState() {
  return useQuery({
    queryKey: auditHeadKey,
    queryFn: async (): Promise<IndexState> => {
      const wire = await unwrap(api.GET('/api/audit/index'))
      return { head: wire.head, last: wire.last, problem: wire.problem ?? '' }
    },
  })
}

/** Reads again what new rows can have changed, as far as it is shown. */
export function useGrow(): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: growingKey }, { cancelRefetch: false })
}
