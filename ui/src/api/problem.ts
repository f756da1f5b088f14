// The host's error documents (RFC 9457 with a stable code).

type Detail = { location: string; message: string }

/** An error the person can read: what happened, and what to do next. */
export class Problem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly next: string,
    readonly fields: readonly Detail[],
  ) {
    super(message)
  }

  /** What is wrong with one field of the request, in its body or its address. */
  field(name: string): string | undefined {
    const about = ({ location }: Detail) =>
      location.startsWith(`body.${name}`) || location === `path.${name}`
    return this.fields.find(about)?.message
  }
}

/** The host could not be reached at all. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

function text(source: object, key: string): string {
  const value: unknown = Reflect.get(source, key)
  return typeof value === 'string' ? value : ''
}

export function toProblem(status: number, body: unknown): Problem {
  if (typeof body !== 'object' || body === null) {
    return new Problem(status, 'error', typeof body === 'string' ? body : '', '', [])
  }
  const errors: unknown = Reflect.get(body, 'errors')
  const fields = Array.isArray(errors)
    ? errors.flatMap((one: unknown) =>
        typeof one === 'object' && one !== null
          ? [{ location: text(one, 'location'), message: text(one, 'message') }]
          : [],
      )
    : []
  const detail = text(body, 'detail') || text(body, 'title')
  return new Problem(status, text(body, 'code'), detail, text(body, 'next'), fields)
}
