import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { LogItem } from '@/domain/log'
import type { RunId } from '@/domain/model'
import { api, unwrap } from './client'
import type { components } from './schema'

type WireLine = components['schemas']['LogLine']

function toItem(line: WireLine): LogItem {
  const event = line.event
  return {
    seq: line.seq,
    time: new Date(line.at),
    stage: line.stage,
    type: event.type,
    turn: event.turn ?? 0,
    text: event.text ?? '',
    cause: event.cause ?? '',
    tool: event.tool ?? '',
    callId: event.id ?? '',
    input: event.input === undefined ? '' : JSON.stringify(event.input, null, 2),
    error: event.error ?? false,
    code: event.code ?? 0,
    cut: event.cut ?? false,
  }
}

export const logKey = (run: RunId) => ['run', run, 'log'] as const

const pageSize = 1000

/**
 * A run's log from its first line. Reading it again only asks for what came
 * after the last line held, so the event stream can tail it by invalidation.
 */
export function useLog(run: RunId) {
  const queries = useQueryClient()
  return useQuery({
    queryKey: logKey(run),
    queryFn: async (): Promise<LogItem[]> => {
      const held = [...(queries.getQueryData<LogItem[]>(logKey(run)) ?? [])]
      for (;;) {
        const page = await readPage(run, held.at(-1)?.seq ?? 0)
        held.push(...page)
        if (page.length < pageSize) return held
      }
    },
    structuralSharing: false,
  })
}

async function readPage(run: RunId, after: number): Promise<LogItem[]> {
  const page = await unwrap(
    api.GET('/api/runs/{id}/logs', {
      params: { path: { id: run }, query: { after, limit: pageSize } },
    }),
  )
  return (page.items ?? []).map(toItem)
}
