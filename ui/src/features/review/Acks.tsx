import { useTranslation } from 'react-i18next'

type Props = {
  acks: string[]
  acked: ReadonlySet<string>
  onChange(acked: ReadonlySet<string>): void
}

export function Acks({ acks, acked, onChange }: Props) {
  const { t } = useTranslation()
  const words = useAckWords()
  if (acks.length === 0) return null
  return (
    <fieldset className="flex flex-col gap-2 rounded-md border border-line p-3">
      <legend className="px-1 text-sm font-medium text-t2">{t('review.acks')}</legend>
      {acks.map((ack) => (
        <label key={ack} className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1"
            checked={acked.has(ack)}
            onChange={() => {
              const next = new Set(acked)
              if (!next.delete(ack)) next.add(ack)
              onChange(next)
            }}
          />
          <span>{words(ack)}</span>
        </label>
      ))}
    </fieldset>
  )
}

export function useAckWords(): (code: string) => string {
  const { t } = useTranslation()
  return (code) => {
    switch (code) {
      case 'no_ci':
      case 'gate_changed':
      case 'truncated_diff':
        return t(`review.ack.${code}`)
      default:
        return t('review.ack.other', { code })
    }
  }
}
