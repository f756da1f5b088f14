import { useQuery } from '@tanstack/react-query'
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
}

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
      }
    },
    // The log grows without events of the board: look at its head as well.
    refetchInterval: 5000,
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
