import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { api, unwrap } from './client'

export const statusKey = ['status'] as const

export type HostStatus = {
  version: string
  driver: string
  driverNote: string
  isolation: string
  gatewayOk: boolean
  gatewayCause: string
  records: number
  head: string
  demo: boolean
  data: string
  /** Where the log is broken: a person decides. */
  broken: BrokenLog | undefined
  /** When the log began in the place of a broken one. */
  restarted: Date | undefined
  /** Who saw the log last, this host left aside. */
  witness: { name: string; at: Date; stale: boolean } | undefined
}

export type BrokenLog = { row: number; file: string; offset: number; cause: string; rows: number }

export function useStatus() {
  return useQuery({
    queryKey: statusKey,
    queryFn: async (): Promise<HostStatus> => {
      const wire = await unwrap(api.GET('/api/status'))
      return {
        version: wire.version,
        driver: wire.driver,
        driverNote: wire.driver_note,
        isolation: wire.isolation,
        gatewayOk: wire.gateway.ok,
        gatewayCause: wire.gateway.cause ?? '',
        records: wire.gateway.records,
        head: wire.gateway.head,
        demo: wire.demo,
        data: wire.data,
        broken: wire.gateway.broken,
        restarted:
          wire.gateway.follows === undefined ? undefined : new Date(wire.gateway.follows.at),
        witness:
          wire.witness.at === undefined
            ? undefined
            : {
                name: wire.witness.name ?? '',
                at: new Date(wire.witness.at),
                stale: wire.witness.stale,
              },
      }
    },
    // The log grows without events of the board: look at its head as well.
    refetchInterval: 5000,
  })
}

/** Keeps the broken log and begins another one; answers where it is kept. */
export function useRestartLog() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ row, file }: BrokenLog) =>
      (await unwrap(api.POST('/api/audit/restart', { body: { row, file } }))).kept,
    // Every row that was read is one of another log now.
    onSuccess: () => queries.invalidateQueries(),
  })
}

export type Doctor = {
  drivers: { name: string; usable: boolean; why: string; limits: string[] }[]
  tools: { name: string; found: boolean; version: string; need: string; get: string }[]
  images: { policy: string; ready: boolean; note: string }[]
}

export function useDoctor() {
  return useQuery({
    queryKey: ['doctor'],
    queryFn: async (): Promise<Doctor> => {
      const wire = await unwrap(api.GET('/api/doctor'))
      return {
        drivers: (wire.drivers ?? []).map(({ name, usable, why = '', limits }) => ({
          name,
          usable,
          why,
          limits: limits ?? [],
        })),
        tools: (wire.tools ?? []).map(({ name, found, version = '', need, get = '' }) => ({
          name,
          found,
          version,
          need,
          get,
        })),
        images: (wire.images ?? []).map(({ policy, ready, note = '' }) => ({
          policy,
          ready,
          note,
        })),
      }
    },
  })
}
