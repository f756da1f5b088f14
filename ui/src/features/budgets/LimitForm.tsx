import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { ErrorNote } from '@/components/State'
import { readLimit, textOf } from '@/domain/budget'
import type { Limit } from '@/domain/limit'
import { LimitFields } from './LimitFields'

type Props = {
  limit: Limit
  /** What is limited, such as a day, for the labels. */
  of: string
  busy: boolean
  error: Error | null
  onSave(limit: Limit): void
  onClose(): void
}

/** Both limits of one budget, edited on the spot. */
export function LimitForm({ limit, of, busy, error, onSave, onClose }: Props) {
  const { t } = useTranslation()
  const [text, setText] = useState(textOf(limit))
  const [tried, setTried] = useState(false)
  const read = readLimit(text)
  return (
    <form
      noValidate
      aria-label={t('budget.edit', { of })}
      className="flex flex-col gap-2 rounded-md border border-line bg-inset p-3"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
      onSubmit={(event) => {
        event.preventDefault()
        setTried(true)
        if (!read.wrong.tokens && !read.wrong.usd) onSave(read.limit)
      }}
    >
      <LimitFields text={text} onChange={setText} wrong={tried ? read.wrong : null} first />
      {error === null ? null : <ErrorNote error={error} />}
      <div className="flex justify-end gap-2">
        <Button size="small" onClick={onClose}>
          {t('common.cancel')}
        </Button>
        <Button type="submit" size="small" look="solid" changes disabled={busy}>
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}
