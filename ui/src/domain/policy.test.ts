import { describe, expect, it } from 'vitest'
import { operationWord } from './operation'
import {
  effectOf,
  effects,
  fieldOf,
  impactOf,
  isOther,
  type Operation,
  type Policy,
  type Shipped,
  withEffect,
} from './policy'

const shippedOne: Operation = { name: 'github.comment', read: false, permitted: true, routes: [] }
const closedOne: Operation = { name: 'github.review', read: false, permitted: false, routes: [] }
const shipped: Shipped = {
  kind: 'github',
  operations: [shippedOne, closedOne],
  never: [],
  branchPrefixes: ['moeca/'],
  protectedRefs: ['main'],
}
const none: Policy = { writes: [], stops: [], paths: [], branchPrefixes: [], protectedRefs: [] }
const byPath = (method: string, path: string, id = 1) => ({ id, operation: '', method, path })

describe('an operation', () => {
  it('is what its kind ships while nobody added a rule', () => {
    expect(effectOf(shippedOne, none)).toBe('permit')
    expect(effectOf(closedOne, none)).toBe('refuse')
  })

  it.each(effects)('of a shipped write, once given %s, has it', (effect) => {
    expect(effectOf(shippedOne, withEffect(none, shippedOne, effect))).toBe(effect)
  })

  it.each(effects)('of a write that is not shipped, once given %s, has it', (effect) => {
    expect(effectOf(closedOne, withEffect(none, closedOne, effect))).toBe(effect)
  })

  it('given back what it ships with leaves no rule behind', () => {
    const asked = withEffect(none, closedOne, 'ask')
    expect(asked.writes.length + asked.stops.length).toBe(2)
    expect(withEffect(asked, closedOne, 'refuse')).toEqual(none)
    expect(withEffect(withEffect(none, shippedOne, 'ask'), shippedOne, 'permit')).toEqual(none)
  })

  it('leaves the rules of others alone', () => {
    const before = { ...none, writes: [byPath('POST', '/x')] }
    expect(withEffect(before, closedOne, 'permit').writes[0]).toEqual(before.writes[0])
  })

  it('that asks is refused all the same when no rule permits it', () => {
    const stop = { id: 1, operation: closedOne.name, method: '', path: '', stop: 'ask' as const }
    expect(effectOf(closedOne, { ...none, stops: [stop] })).toBe('refuse')
  })

  it('has the most severe of its rules, not the first', () => {
    const rule = { operation: shippedOne.name, method: '', path: '' }
    const stops = (['warn', 'block', 'ask'] as const).map((stop, id) => ({ ...rule, id, stop }))
    expect(effectOf(shippedOne, { ...none, stops })).toBe('refuse')
  })
})

describe('the impact of a change', () => {
  const say = (before: Policy, after: Policy) =>
    impactOf(before, after, shipped).map(
      ({ kind, operations, texts }) => `${kind}: ${[...operations, ...texts].join(', ')}`,
    )
  it('is nothing when nothing changes', () => expect(say(none, none)).toEqual([]))
  it('names what agents may do now', () =>
    expect(say(none, withEffect(none, closedOne, 'permit'))).toEqual(['may: github.review']))
  it('names what they are asked about', () =>
    expect(say(none, withEffect(none, shippedOne, 'ask'))).toEqual(['asked: github.comment']))
  it('names what they may no longer do', () =>
    expect(say(withEffect(none, closedOne, 'permit'), none)).toEqual(['never: github.review']))
  it('names rules by method and path', () => {
    const after = {
      ...none,
      writes: [byPath('POST', '/a')],
      stops: [{ ...byPath('GET', '/b', 2), stop: 'ask' as const }],
    }
    expect(say(none, after)).toEqual(['may: POST /a', 'asked: GET /b'])
    expect(say(after, none)).toEqual(['may: GET /b', 'never: POST /a'])
  })
  it('does not call a rule gone that only changed what it does', () => {
    const rule = byPath('GET', '/b')
    const before = { ...none, stops: [{ ...rule, stop: 'block' as const }] }
    const after = { ...none, stops: [{ ...rule, stop: 'warn' as const }] }
    expect(say(before, after)).toEqual(['marked: GET /b'])
  })
  it('says where branches may be written, also when the shipped place comes back', () => {
    const bot = { ...none, branchPrefixes: ['bot/'] }
    expect(say(none, bot)).toEqual(['branches: bot/'])
    expect(say(bot, none)).toEqual(['branches: moeca/'])
  })
  it('tells an empty list of paths, which is every path, from one with entries', () => {
    const only = { ...none, paths: ['/repos/**'] }
    expect(say(none, only)).toEqual(['onlyPaths: /repos/**'])
    expect(say(only, none)).toEqual(['anyPath: '])
  })
  it('names refs that are protected now, and those that are not any more', () => {
    const more = { ...none, protectedRefs: ['release'] }
    expect(say(none, more)).toEqual(['protected: release'])
    expect(say(more, none)).toEqual(['unprotected: release'])
  })
})

describe('a refusal of the gateway is shown at its field', () => {
  const policy: Policy = {
    writes: [byPath('POST', '/a b')],
    stops: [{ ...byPath('TRACE', '/c', 2), stop: 'block' }],
    paths: ['nothing'],
    branchPrefixes: ['x'],
    protectedRefs: [''],
  }
  it.each([
    ['path "/a b": begin with a slash and write segments', 'writes'],
    ['path "/c": * stands for a whole segment', 'stops'],
    ['path "nothing": begin with a slash', 'paths'],
    ['method "TRACE": write one of GET, HEAD', 'stops'],
    ['branch prefix "x": write a name with a slash at its end', 'branchPrefixes'],
    ['protected ref "" is not a name', 'protectedRefs'],
    ['a rule names an operation or a method and a path, not both', 'writes'],
    ['a list has more than 256 entries', null],
  ] as const)('%s', (message, field) =>
    expect(fieldOf(`policy: invalid: ${message}`, policy)).toBe(field),
  )
})

it('a rule by method and path belongs to no operation of the kind', () => {
  expect(isOther(byPath('GET', '/x'), shipped)).toBe(true)
  expect(isOther({ ...byPath('', ''), operation: 'github.comment' }, shipped)).toBe(false)
})

it('an operation without words keeps its name', () => {
  expect(operationWord('github.create-branch')).toBe('createBranch')
  expect(operationWord('jira.search')).toBe('search')
  expect(operationWord('github.of-tomorrow')).toBeNull()
  expect(operationWord('constructor')).toBeNull()
})
