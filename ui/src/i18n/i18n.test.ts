import { describe, expect, it } from 'vitest'
import { detectLanguage } from '.'
import { en } from './en'
import { ja } from './ja'
import { zh } from './zh'

type Tree = { [key: string]: string | Tree }

function leaves(tree: Tree, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[`${path}${key}`, value]] : leaves(value, `${path}${key}.`),
  )
}

const source = new Map(leaves(en))
const holes = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).sort()

describe.each([
  ['ja', ja],
  ['zh', zh],
])('%s', (_name, messages) => {
  const all = leaves(messages)
  it('has every sentence and no other', () => {
    expect(all.map(([key]) => key).sort()).toEqual([...source.keys()].sort())
  })
  it.each(all)('%s fills the same holes', (key, text) => {
    expect(text).not.toBe('')
    expect(holes(text)).toEqual(holes(source.get(key) ?? ''))
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
