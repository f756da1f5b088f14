import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { detectLanguage } from '.'
import { en } from './en'
import { ja } from './ja'
import { later } from './later'
import { en as trace } from './trace/en'
import { ja as traceJa } from './trace/ja'
import { zh as traceZh } from './trace/zh'
import { zh } from './zh'

type Tree = { [key: string]: string | Tree }

function leaves(tree: Tree, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[`${path}${key}`, value]] : leaves(value, `${path}${key}.`),
  )
}

const holes = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).sort()

describe.each([
  ['ja', { ...en, ...later }, ja],
  ['zh', { ...en, ...later }, zh],
  ['ja of the Audit screen', trace, traceJa],
  ['zh of the Audit screen', trace, traceZh],
])('%s', (_name, english, messages) => {
  const source = new Map(leaves(english))
  const all = leaves(messages)
  it('has every sentence and no other', () => {
    expect(all.map(([key]) => key).sort()).toEqual([...source.keys()].sort())
  })
  it.each(all)('%s fills the same holes', (key, text) => {
    expect(text).not.toBe('')
    expect(holes(text)).toEqual(holes(source.get(key) ?? ''))
  })
})

describe('English, where a number may be one,', () => {
  // What is never one, a unit, and a verb behind the number of a record.
  const never = [
    'board.tokens',
    'program.budgetHelp',
    'trace.showAll',
    'settings.latency',
    'trace.eraseDone',
  ]
  const forms = /_(one|other)$/
  const all = leaves({ ...en, ...later, ...trace })
  it('has a form for it', () => {
    const fixed = all.filter(([key, text]) => !forms.test(key) && /\{\{n\}\} [a-z]+s\b/.test(text))
    expect(fixed.map(([key]) => key).sort()).toEqual(never.sort())
  })
})

describe('the language is chosen', () => {
  const cases = [
    ['by the first that exists', ['fr-FR', 'ja-JP', 'en'], 'ja'],
    ['by its base', ['zh-Hant-TW'], 'zh'],
    ['as English when nothing fits', ['fr'], 'en'],
    ['as English when a web view says C', ['C'], 'en'],
  ] as const
  it.each(cases)('%s', (_name, wanted, want) => expect(detectLanguage(wanted)).toBe(want))
})

describe('the first screen', () => {
  const root = resolve('src')

  function fileOf(from: string, name: string): string | undefined {
    const base = name.startsWith('@/') ? join(root, name.slice(2)) : resolve(dirname(from), name)
    return ['.ts', '.tsx', '/index.ts'].map((end) => base + end).find((path) => existsSync(path))
  }

  /** Every file of ours that the page loads before it shows something. */
  function firstFiles(from: string, seen = new Map<string, string>()): Map<string, string> {
    if (seen.has(from)) return seen
    const text = readFileSync(from, 'utf8')
    seen.set(from, text)
    for (const [, name = ''] of text.matchAll(
      /^(?:import|export) [^'"]*?from '([@.]\/?[^']*)'/gm,
    )) {
      const next = fileOf(from, name)
      if (next !== undefined) firstFiles(next, seen)
    }
    return seen
  }

  it('uses no word that comes later', () => {
    const files = firstFiles(join(root, 'main.tsx'))
    expect(files.size).toBeGreaterThan(50)
    const used = [...files].flatMap(([file, text]) =>
      [...text.matchAll(/\bt\([^)]*?['`](\w+)\./g)].map(([, group = '']) => ({ file, group })),
    )
    expect(used.length).toBeGreaterThan(50)
    expect(used.filter(({ group }) => group in later)).toEqual([])
  })
})
