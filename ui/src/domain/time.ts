const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** "3 minutes ago" in the person's language; below a minute it says "now". */
export function ago(when: Date, now: Date, language: string): string {
  const seconds = Math.round((when.getTime() - now.getTime()) / 1000)
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'narrow' })
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return format.format(Math.trunc(seconds / size), unit)
  }
  return format.format(0, 'second')
}

/** 4 s, 1:05, 2:03:04: never below zero when clocks differ. */
export function elapsed(from: Date, to: Date): string {
  const total = Math.max(0, Math.floor((to.getTime() - from.getTime()) / 1000))
  if (total < 60) return `${total} s`
  const pad = (n: number) => String(n).padStart(2, '0')
  const hours = Math.floor(total / 3600)
  const minutes = Math.floor(total / 60) % 60
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(total % 60)}` : `${minutes}:${pad(total % 60)}`
}

export function clock(when: Date, language: string): string {
  return new Intl.DateTimeFormat(language, { timeStyle: 'medium' }).format(when)
}

export function full(when: Date, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long' }).format(when)
}

export function count(value: number, language: string): string {
  return new Intl.NumberFormat(language).format(value)
}

export function compact(value: number, language: string): string {
  return new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 }).format(
    value,
  )
}

const sizes = ['byte', 'kilobyte', 'megabyte', 'gigabyte'] as const

export function bytes(value: number, language: string): string {
  let step = 0
  let rest = value
  while (rest >= 1024 && step < sizes.length - 1) {
    rest /= 1024
    step++
  }
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: sizes[step] ?? 'byte',
    unitDisplay: 'short',
    maximumFractionDigits: rest < 10 && step > 0 ? 1 : 0,
  }).format(rest)
}

/** A language tag that Intl takes; some web views report "C" or nothing. */
export function safeLanguage(tag: string | undefined): string {
  try {
    return new Intl.NumberFormat(tag).resolvedOptions().locale
  } catch {
    return 'en'
  }
}
