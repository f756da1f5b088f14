import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { oneOf } from '@/domain/model'
import { type Policy, type Rule, type Shipped, type StopRule, stops } from '@/domain/policy'
import { api, unwrap } from './client'
import type { components } from './schema'

type Wire = components['schemas']

const policyKey = (provider: string) => ['policy', provider] as const

export type ProviderPolicy = { policy: Policy; shipped: Shipped }

function toRule(wire: Wire['OperationRule'], id: number): Rule {
  const { operation = '', method = '', path = '' } = wire
  return { id, operation, method, path }
}

function toPolicy(wire: Wire['Policy']): Policy {
  const writes = (wire.writes ?? []).map(toRule)
  return {
    writes,
    // An effect that is not known blocks.
    stops: (wire.forbidden ?? []).map((rule, at) => ({
      ...toRule(rule, writes.length + at),
      stop: oneOf(stops, rule.effect, 'block'),
    })),
    paths: wire.paths ?? [],
    branchPrefixes: wire.branch_prefixes ?? [],
    protectedRefs: wire.protected_refs ?? [],
  }
}

const toShipped = (wire: Wire['Shipped']): Shipped => ({
  kind: wire.kind,
  operations: (wire.operations ?? []).map(({ name, read, permitted, routes }) => ({
    name,
    read,
    permitted,
    routes: routes ?? [],
  })),
  never: (wire.never ?? []).map(({ what, why }) => ({ what, why })),
  branchPrefixes: wire.branch_prefixes ?? [],
  protectedRefs: wire.protected_refs ?? [],
})

const toBoth = (wire: Wire['ProviderPolicy']): ProviderPolicy => ({
  policy: toPolicy(wire.policy),
  shipped: toShipped(wire.shipped),
})

export function usePolicy(provider: string) {
  return useQuery({
    queryKey: policyKey(provider),
    queryFn: async () =>
      toBoth(
        await unwrap(
          api.GET('/api/providers/{name}/policy', { params: { path: { name: provider } } }),
        ),
      ),
  })
}

const wireRule = ({ operation, method, path }: Rule): Wire['OperationRule'] =>
  operation === '' ? { method, path } : { operation }

const wireStop = (rule: StopRule): Wire['ForbiddenRule'] => ({
  ...wireRule(rule),
  effect: rule.stop,
})

/** Sends every list that the editor shows; what it does not show stays. */
export function useSetPolicy(provider: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (policy: Policy) =>
      toBoth(
        await unwrap(
          api.PATCH('/api/providers/{name}/policy', {
            params: { path: { name: provider } },
            body: {
              writes: policy.writes.map(wireRule),
              forbidden: policy.stops.map(wireStop),
              paths: policy.paths,
              branch_prefixes: policy.branchPrefixes,
              protected_refs: policy.protectedRefs,
            },
          }),
        ),
      ),
    onSuccess: (both) => queries.setQueryData(policyKey(provider), both),
  })
}
