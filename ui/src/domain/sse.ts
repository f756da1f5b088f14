export type ServerEvent = { id: string; event: string; data: string }

/** A parser that is fed pieces of an event stream, cut anywhere. */
export class EventStreamParser {
  private rest = ''
  private id = ''
  private event = ''
  private data: string[] = []

  feed(piece: string): ServerEvent[] {
    const out: ServerEvent[] = []
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/)
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      const done = this.line(line)
      if (done !== null) out.push(done)
    }
    return out
  }

  private line(line: string): ServerEvent | null {
    if (line === '') return this.end()
    const colon = line.indexOf(':')
    if (colon === 0) return null
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'id') this.id = value
    else if (field === 'event') this.event = value
    else if (field === 'data') this.data.push(value)
    return null
  }

  private end(): ServerEvent | null {
    const data = this.data.join('\n')
    const event = this.event
    this.data = []
    this.event = ''
    return data === '' ? null : { id: this.id, event, data }
  }
}
