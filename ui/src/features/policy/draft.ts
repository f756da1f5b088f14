import type { Policy, PolicyField, Rule, StopRule } from '@/domain/policy'

/** What the editor holds: lists of rules as they are, lists of words as typed. */
export type Draft = {
  writes: Rule[]
  stops: StopRule[]
  paths: string
  branchPrefixes: string
  protectedRefs: string
}

/** What the gateway said of a field, in its own words. */
export type Wrong = { field: PolicyField; message: string } | null

export function draftOf(policy: Policy): Draft {
  return {
    writes: policy.writes,
    stops: policy.stops,
    paths: policy.paths.join('\n'),
    branchPrefixes: policy.branchPrefixes.join('\n'),
    protectedRefs: policy.protectedRefs.join('\n'),
  }
}
