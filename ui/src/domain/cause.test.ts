import { describe, expect, it } from 'vitest'
import { causeKey } from './cause'

describe('the cause of a task', () => {
  it.each([
    ['done', 'passed', 'merged'],
    ['reviewing', 'none', 'noCI'],
    ['reviewing', 'pending', 'ciPending'],
    ['reviewing', 'passed', 'ciPassed'],
    ['reviewing', 'passed_gate_changed', 'ciDrift'],
    ['reviewing', 'stale', 'ciStale'],
  ] as const)('%s with CI %s is told in the language of the person', (status, ci, key) => {
    expect(causeKey({ status, ci })).toBe(key)
  })

  it('says that only the merge is missing', () => {
    expect(causeKey({ status: 'reviewing', ci: 'passed', next: 'merge' })).toBe('approved')
  })

  it.each([
    ['failed', 'none'],
    ['cancelled', 'passed'],
    ['stopped', 'none'],
    ['reviewing', 'failed'],
    ['reviewing', 'error'],
    ['running', 'none'],
  ] as const)('%s with CI %s is told in the words of the host', (status, ci) => {
    expect(causeKey({ status, ci })).toBeUndefined()
  })
})
