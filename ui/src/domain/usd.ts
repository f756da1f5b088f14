/** For a reader, to the hundredth of a cent; rounded up, so that nothing looks free. */
export function usd(nano: number, language: string): string {
  return new Intl.NumberFormat(language, {
    style: 'currency',
    currency: 'USD',
    minimumFractionDigits: 2,
    maximumFractionDigits: 4,
  }).format(Math.ceil(nano / 100_000) / 10_000)
}
