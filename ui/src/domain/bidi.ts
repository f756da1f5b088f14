// Characters that make text read differently from what it is. Agents and
// repositories are hostile input: every one becomes a visible name.

const names = new Map<number, string>([
  [0x061c, 'ALM'],
  [0x200b, 'ZWSP'],
  [0x200c, 'ZWNJ'],
  [0x200d, 'ZWJ'],
  [0x200e, 'LRM'],
  [0x200f, 'RLM'],
  [0x202a, 'LRE'],
  [0x202b, 'RLE'],
  [0x202c, 'PDF'],
  [0x202d, 'LRO'],
  [0x202e, 'RLO'],
  [0x2028, 'LSEP'],
  [0x2029, 'PSEP'],
  [0x2060, 'WJ'],
  [0x2066, 'LRI'],
  [0x2067, 'RLI'],
  [0x2068, 'FSI'],
  [0x2069, 'PDI'],
  [0xfeff, 'BOM'],
])

export type Piece = { kind: 'text' | 'control'; text: string }

function nameOf(code: number): string | null {
  const known = names.get(code)
  if (known !== undefined) return known
  if (code === 0x1b) return 'ESC'
  if (code === 0x0d) return 'CR'
  if (code < 0x20 && code !== 0x09 && code !== 0x0a)
    return `0x${code.toString(16).padStart(2, '0')}`
  if (code >= 0x7f && code < 0xa0) return `0x${code.toString(16)}`
  if (code >= 0xe0000 && code <= 0xe007f) return `TAG ${code.toString(16)}`
  return null
}

/** Splits text so that nothing invisible is left in the pieces shown as text. */
export function reveal(text: string): Piece[] {
  const out: Piece[] = []
  let plain = ''
  const flush = () => {
    if (plain !== '') out.push({ kind: 'text', text: plain })
    plain = ''
  }
  for (const char of text) {
    const name = nameOf(char.codePointAt(0) ?? 0)
    if (name === null) {
      plain += char
    } else {
      flush()
      out.push({ kind: 'control', text: name })
    }
  }
  flush()
  return out
}

/** The same as one string, for a label that only a screen reader gets. */
export function plain(text: string): string {
  return reveal(text)
    .map((piece) => (piece.kind === 'text' ? piece.text : `[${piece.text}]`))
    .join('')
}

// A terminal's own language: CSI, OSC, DCS/SOS/PM/APC strings and two-byte
// escapes. An unterminated string ends with its line, so that it cannot
// swallow what follows.
const escapes =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001b[\]PX^_][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]/g

/** Takes terminal escape sequences out; a lone ESC stays and is made visible. */
export function stripEscapes(text: string): string {
  return text.replace(escapes, '')
}
