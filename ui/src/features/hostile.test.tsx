import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { Safe } from '@/components/Safe'
import type { LogItem } from '@/domain/log'
import { makeTask } from '../../test/make'
import { show, showRouted } from '../../test/render'
import { Card } from './board/Card'
import { LogEntry } from './log/LogEntry'

const item: LogItem = {
  seq: 1,
  time: new Date(0),
  stage: 's',
  type: 'text',
  turn: 1,
  text: '',
  tool: '',
  callId: '',
  input: '',
  error: false,
  code: 0,
  cut: false,
  cause: '',
}

const attacks = [
  '<img src=x onerror=alert(1)>',
  '<script>alert(1)</script>',
  '[click](javascript:alert(1))',
  '![](https://evil.example/pixel.png)',
  '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
]

describe('what an agent wrote is text', () => {
  it.each(attacks)('%j makes no element and no link', async (text) => {
    const { container } = await show(
      <>
        <LogEntry entry={{ kind: 'text', key: 1, item: { ...item, text } }} />
        <LogEntry
          entry={{
            kind: 'call',
            key: 2,
            call: { ...item, tool: text, input: JSON.stringify({ path: text }) },
            result: { ...item, text },
          }}
        />
        <LogEntry entry={{ kind: 'output', key: 3, item, text }} />
      </>,
    )
    expect(container.querySelector('img, script, a, iframe, style, object, video')).toBeNull()
  })

  it('names what cannot be seen', async () => {
    const { container } = await show(<Safe text={'invoice\u202efdp.exe\u001b'} />)
    expect(screen.getByRole('img', { name: 'invisible character RLO' }).textContent).toBe('RLO')
    expect(screen.getByRole('img', { name: 'invisible character ESC' })).toBeTruthy()
    for (const char of ['\u202e', '\u001b']) expect(container.textContent).not.toContain(char)
  })

  it('is as harmless in labels only a screen reader gets', async () => {
    const title = 'pay\u202egnp.exe\u001b'
    const { container } = await showRouted(<Card task={makeTask({ title })} />)
    expect(screen.getByRole('button', { name: 'pay[RLO]gnp.exe[ESC], draft' })).toBeTruthy()
    for (const element of container.querySelectorAll('*')) {
      for (const { value } of element.attributes) {
        for (const char of ['\u202e', '\u001b']) expect(value).not.toContain(char)
      }
    }
  })
})
