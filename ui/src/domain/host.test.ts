import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeFile } from '../../test/make'
import { blockerCodes } from './approve'
import { askMore, type DiffSet, warningCodes, withGates } from './diff'

const source = join(import.meta.dirname, '../../../internal/diff/warn.go')

describe('warnings beside a file', () => {
  // The host's list is closed; a code without words here fails.
  const codes = [...readFileSync(source, 'utf8').matchAll(/^\tWarn\w+\s*=\s*"([^"]+)"/gm)].map(
    (found) => found[1] ?? '',
  )
  it('are found in the source of the host', () => expect(codes.length).toBeGreaterThan(5))
  it.each(codes)('have words: %s', (code) => {
    expect(warningCodes.some((one) => one === code)).toBe(true)
  })
})

describe('blockers of an approval', () => {
  const dir = join(import.meta.dirname, '../../../internal/board')
  const sources = readdirSync(dir).filter((name) => /^[a-z]+\.go$/.test(name))
  const codes = sources.flatMap((name) =>
    [...readFileSync(join(dir, name), 'utf8').matchAll(/Blocker\{+"([a-z_]+)"/g)].map(
      (found) => found[1] ?? '',
    ),
  )
  it('are found in the source of the host', () => expect(codes.length).toBeGreaterThan(10))
  it.each(codes)('have words: %s', (code) => {
    expect(blockerCodes.some((one) => one === code)).toBe(true)
  })
})

it('marks the files that decide what the gate checks', () => {
  const files = ['a', 'Makefile', 'b'].map((path) => makeFile({ path, warnings: ['nul'] }))
  const moved = makeFile({ path: 'new', oldPath: 'ci/check' })
  const set: DiffSet = {
    from: '',
    to: '',
    files: [...files, moved],
    truncated: false,
    added: 0,
    deleted: 0,
  }
  const got = withGates(set, ['Makefile', 'ci/check']).files.map((file) => file.warnings)
  expect(got).toEqual([['nul'], ['nul', 'gate-file'], ['nul'], ['gate-file']])
})

it('asks for ten times as many lines, up to what the host allows', () => {
  expect([askMore(undefined), askMore(200_000), askMore(1_000_000)]).toEqual([
    200_000,
    1_000_000,
    null,
  ])
})
