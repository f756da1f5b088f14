import { describe, expect, it } from 'vitest'
import { en } from './en'
import { ja } from './ja'
import { zh } from './zh'

type Tree = { [key: string]: string | Tree }

function leaves(tree: Tree, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[`${path}${key}`, value]] : leaves(value, `${path}${key}.`),
  )
}

const holes = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).sort()
const source = new Map(leaves(en))

describe.each([
  ['ja', ja],
  ['zh', zh],
])('%s', (_name, words) => {
  it('has every sentence, with the same holes', () => {
    const all = leaves(words)
    expect(all.map(([key]) => key).sort()).toEqual([...source.keys()].sort())
    for (const [key, text] of all) {
      expect(text, key).not.toBe('')
      expect(holes(text), key).toEqual(holes(source.get(key) ?? ''))
    }
  })
})
