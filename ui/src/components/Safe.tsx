import { useTranslation } from 'react-i18next'
import { reveal } from '@/domain/bidi'

/**
 * Text written by an agent or a repository. It is always text, never markup;
 * what would be invisible or turn the reading direction shows its name.
 */
export function Safe({ text }: { text: string }) {
  const { t } = useTranslation()
  const pieces = reveal(text)
  if (pieces.length === 1 && pieces[0]?.kind === 'text') return text
  let at = 0
  return pieces.map((piece) => {
    const key = at
    at += piece.text.length + 1
    return piece.kind === 'text' ? (
      <span key={key}>{piece.text}</span>
    ) : (
      <span
        key={key}
        role="img"
        aria-label={t('common.control', { name: piece.text })}
        className="mx-px rounded-sm border border-red px-0.5 text-xs text-red select-none"
      >
        {piece.text}
      </span>
    )
  })
}
