import { describe, expect, it } from 'vitest'
import { noLimit } from './limit'
import { type MadeSession, quoted, recipesOf } from './program'

const made: MadeSession = {
  session: {
    id: 's',
    program: true,
    service: false,
    name: 'n',
    task: '',
    reach: [],
    grants: [],
    repos: ['o/r'],
    limit: noLimit,
    spent: { tokens: 0, cost: 0 },
    unattended: false,
    expires: new Date(0),
  },
  token: 'abc_-1',
  header: 'X-Moeca-Session',
  urls: [],
}
const url = {
  provider: 'p',
  url: 'http://127.0.0.1:1/p',
  gitUrl: '',
  variable: '',
  keyVariable: '',
}

describe('lines for a terminal', () => {
  it('set what a client of the kind reads', () => {
    const one = {
      ...url,
      kind: 'anthropic',
      variable: 'ANTHROPIC_BASE_URL',
      keyVariable: 'ANTHROPIC_API_KEY',
    }
    expect(recipesOf({ ...made, urls: [one] })).toEqual([
      {
        provider: 'p',
        kind: 'claude',
        lines: 'export ANTHROPIC_BASE_URL=http://127.0.0.1:1/p\nexport ANTHROPIC_API_KEY=abc_-1',
      },
    ])
  })
  it('clone a repository with the token as a header', () => {
    const one = { ...url, kind: 'github', gitUrl: 'http://127.0.0.1:1/p' }
    expect(recipesOf({ ...made, urls: [one] })[0]?.lines).toBe(
      "git clone -c http.extraHeader='X-Moeca-Session: abc_-1' http://127.0.0.1:1/p/o/r.git",
    )
  })
  it('call anything else', () => {
    expect(recipesOf({ ...made, urls: [{ ...url, kind: 'jira' }] })[0]?.lines).toBe(
      "curl -H 'X-Moeca-Session: abc_-1' http://127.0.0.1:1/p/",
    )
  })
})

it.each([
  ['plain', 'plain'],
  ['', "''"],
  ['two words', "'two words'"],
  ["it's; rm -rf $HOME", "'it'\\''s; rm -rf $HOME'"],
])('%j is one word for a shell', (text, word) => expect(quoted(text)).toBe(word))
