import { describe, expect, it } from 'vitest'
import { causeKey, hostCause, remedyOf, splitKept } from './cause'

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

describe('the host’s own sentence', () => {
  it.each([
    [
      'the agent wants to github.create-branch, git.push at hub; allow or refuse',
      { kind: 'ask', operations: ['github.create-branch', 'git.push'], upstream: 'hub', more: 0 },
      null,
    ],
    [
      'the agent wants to anthropic.inference at demo; allow or refuse (2 more wait)',
      { kind: 'ask', operations: ['anthropic.inference'], upstream: 'demo', more: 2 },
      null,
    ],
    [
      'the budget of the task does not suffice for another call: raise it in the task’s details',
      { kind: 'budget', of: 'task' },
      'task',
    ],
    [
      'the budget of the day does not suffice for another call: raise it in Settings',
      { kind: 'budget', of: 'day' },
      'budgets',
    ],
    [
      'the budget of own for today does not suffice for another call: raise it in Settings',
      { kind: 'providerBudget', provider: 'own' },
      'budgets',
    ],
    [
      'a budget does not suffice for another call: `moeca task budget 1`',
      { kind: 'budget', of: 'some' },
      'task',
    ],
    [
      'a budget in USD applies and the model m-1 has no price: set one with',
      { kind: 'noPrice', model: 'm-1' },
      'prices',
    ],
    ['stopped by you', { kind: 'stopped' }, null],
    ['stopped by you; the work so far was kept at 0123abcdef', { kind: 'stopped' }, null],
    ['stopped by you; nothing had been changed', { kind: 'stopped' }, null],
    [
      'the agent gave up: denied The gateway refused (gate forbidden, reason person-refused). moeca gateway, forbidden/person-refused: a person refused anthropic.inference at demo; do not try it again; nothing had been changed',
      { kind: 'refused', operation: 'anthropic.inference', upstream: 'demo' },
      null,
    ],
    [
      'the agent gave up: denied The gateway refused (gate forbidden, reason nobody-answered). moeca gateway, forbidden/nobody-answered: git.push needs a person at hub, and nobody answered within 600 seconds; ask again when somebody is there',
      { kind: 'unanswered', operation: 'git.push', upstream: 'hub' },
      null,
    ],
    ['the agent wants to do evil', null, null],
    ['ended: the budget of the task does not suffice for another call: x', null, null],
  ] as const)('%s', (text, cause, remedy) => {
    expect(hostCause(text)).toEqual(cause)
    expect(remedyOf(hostCause(text))).toBe(remedy)
  })
})

it('what was kept is told apart from the cause', () => {
  expect(splitKept('it broke; the work so far was kept at 0123abcdef')).toEqual({
    what: 'it broke',
    kept: { kind: 'work', head: '0123abcdef' },
  })
  expect(splitKept('it broke; nothing had been changed').kept).toEqual({ kind: 'nothing' })
  expect(splitKept('it broke')).toEqual({ what: 'it broke', kept: null })
})
