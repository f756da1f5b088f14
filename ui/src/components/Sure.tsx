import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './Button'

type Props = {
  /** The button as it stands there: "Remove …". */
  label: string
  /** What is lost for good. */
  question: ReactNode
  busy: boolean
  onYes(): void
  size?: 'small' | 'normal'
  children?: ReactNode
}

/**
 * For the few things that cannot be undone. The first press says what would be
 * lost, at the same place; the focus is then on keeping it.
 */
export function Sure({ label, question, busy, onYes, size = 'small', children }: Props) {
  const { t } = useTranslation()
  const [asking, setAsking] = useState(false)
  if (!asking) {
    return (
      <Button size={size} look="ghost" changes disabled={busy} onClick={() => setAsking(true)}>
        {children ?? label}
      </Button>
    )
  }
  return (
    <span
      role="group"
      aria-label={label}
      className="flex flex-wrap items-center gap-2 rounded-md border border-amber/40 bg-amber-soft px-2 py-0.5"
    >
      <span className="text-sm">{question}</span>
      <Button size="small" autoFocus onClick={() => setAsking(false)}>
        {t('common.keep')}
      </Button>
      <Button
        size="small"
        look="danger"
        changes
        disabled={busy}
        onClick={() => {
          setAsking(false)
          onYes()
        }}
      >
        {label}
      </Button>
    </span>
  )
}
