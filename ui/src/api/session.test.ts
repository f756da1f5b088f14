import { beforeEach, describe, expect, it } from 'vitest'
import { answer, problem } from '../../test/render'
import { markDead, onDead, returnPath, startSession, token } from './session'

describe('a window gets its token', () => {
  beforeEach(() => {
    sessionStorage.clear()
    localStorage.clear()
    history.replaceState(null, '', '/audit?q=x')
  })

  it('from the fragment, which leaves the address', async () => {
    const { calls } = answer({ 'POST /api/auth/exchange': { token: 'bearer-1', scopes: [] } })
    location.hash = '#launch=once'
    expect(await startSession()).toEqual({ state: 'ready' })
    expect(calls[0]?.body).toEqual({ launch_token: 'once' })
    expect(location.hash).toBe('')
    expect(location.pathname + location.search).toBe('/audit?q=x')
    expect(token()).toBe('bearer-1')
    expect(sessionStorage.getItem('moeca.bearer')).toBe('bearer-1')
    expect(localStorage.getItem('moeca.bearer')).toBeNull()
  })

  it('from its own storage after a reload', async () => {
    sessionStorage.setItem('moeca.bearer', 'kept')
    const { calls } = answer({})
    expect(await startSession()).toEqual({ state: 'ready' })
    expect(calls).toEqual([])
  })

  it('from nowhere without a link', async () => {
    expect(await startSession()).toEqual({ state: 'dead', why: 'missing' })
  })

  it('not from a used link, which leaves the address all the same', async () => {
    answer({ 'POST /api/auth/exchange': problem(401, 'launch_used', 'used') })
    location.hash = '#launch=twice'
    expect(await startSession()).toEqual({ state: 'dead', why: 'used' })
    expect(location.hash).toBe('')
  })

  it('not when the host is gone', async () => {
    globalThis.fetch = () => Promise.reject(new TypeError('refused'))
    location.hash = '#launch=once'
    expect(await startSession()).toEqual({ state: 'unreachable' })
  })

  it('and comes back to where it was when it lost the last one', async () => {
    markDead()
    expect(returnPath()).toBe('/audit?q=x')
    history.replaceState(null, '', '/')
    answer({ 'POST /api/auth/exchange': { token: 'bearer-2', scopes: [] } })
    location.hash = '#launch=again'
    expect(await startSession()).toEqual({ state: 'ready' })
    expect(location.pathname + location.search).toBe('/audit?q=x')
    expect(localStorage.getItem('moeca.return')).toBeNull()
  })

  it.each([
    ['another origin', JSON.stringify({ path: '//evil.example', at: Date.now() })],
    ['another origin, bent', JSON.stringify({ path: '/\\\\evil.example', at: Date.now() })],
    ['a script', JSON.stringify({ path: 'javascript:alert(1)', at: Date.now() })],
    ['long ago', JSON.stringify({ path: '/audit', at: 0 })],
    ['no time', JSON.stringify({ path: '/audit' })],
    ['nonsense', '{'],
  ])('but never to %s', async (_name, kept) => {
    localStorage.setItem('moeca.return', kept)
    history.replaceState(null, '', '/')
    answer({ 'POST /api/auth/exchange': { token: 'bearer-2', scopes: [] } })
    location.hash = '#launch=again'
    await startSession()
    expect(location.pathname).toBe('/')
  })

  it('and forgets it when the host does', () => {
    sessionStorage.setItem('moeca.bearer', 'old')
    let told = 0
    const stop = onDead(() => told++)
    markDead()
    stop()
    expect(told).toBe(1)
    expect(sessionStorage.getItem('moeca.bearer')).toBeNull()
  })
})
