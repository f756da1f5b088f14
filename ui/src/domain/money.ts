// Money is counted in 1e-9 USD, as the gateway counts it. What people write and
// read are decimals.

const amount = /^([0-9]{1,6})(?:\.([0-9]{1,9}))?$/

/** The amount that a text writes, in 1e-9 USD; null where it writes none. */
export function parseUSD(text: string): number | null {
  const found = amount.exec(text.trim())
  if (found === null) return null
  return Number(`${found[1]}${(found[2] ?? '').padEnd(9, '0')}`)
}

/** For a field: as short as it can be written exactly. */
export function writeUSD(nano: number): string {
  const digits = String(Math.max(0, Math.trunc(nano))).padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

/** A whole number as people write it: separators are left out, k and M count. */
export function parseCount(text: string): number | null {
  const found = /^([0-9]{1,3}(?:[ ,_’']?[0-9]{3})*|[0-9]+)(?:\.([0-9]{1,3}))?\s*([kKmM]?)$/.exec(
    text.trim(),
  )
  if (found === null) return null
  const [, whole = '', part = '', unit = ''] = found
  const times = unit === '' ? 1 : unit.toLowerCase() === 'k' ? 1_000 : 1_000_000
  const value = Number(`${whole.replace(/[^0-9]/g, '')}.${part || '0'}`) * times
  return Number.isSafeInteger(value) ? value : null
}
