// A CI command is a list of words. Nothing here is a shell: quotes group, a
// backslash takes the next character as it is, and nothing expands.

export type Words = { ok: true; words: string[] } | { ok: false; problem: 'open_quote' }

export function splitWords(text: string): Words {
  const words: string[] = []
  let word = ''
  let started = false
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? ''
    if (char === '\\' && quote !== "'" && at + 1 < text.length) {
      word += text[++at] ?? ''
      started = true
    } else if (quote !== '') {
      if (char === quote) quote = ''
      else word += char
    } else if (char === "'" || char === '"') {
      quote = char
      started = true
    } else if (/\s/.test(char)) {
      if (started) words.push(word)
      word = ''
      started = false
    } else {
      word += char
      started = true
    }
  }
  if (quote !== '') return { ok: false, problem: 'open_quote' }
  if (started) words.push(word)
  return { ok: true, words }
}

/** Operators a person may expect to work; they are plain words here. */
export function shellWords(words: readonly string[]): string[] {
  return words.filter((word) => /^(&&|\|\|?|;|>>?|<|2>&1|&)$/.test(word) || word.startsWith('$('))
}

export function joinWords(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')
}
