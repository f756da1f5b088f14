import { X } from 'lucide-react'
import { type ReactNode, type SyntheticEvent, useEffect, useId, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './Button'
import { cn } from './cn'

type Props = {
  title: string
  onClose(): void
  children: ReactNode
  className?: string
  bare?: boolean
  /** What is typed is kept elsewhere, so that closing loses nothing. */
  keeps?: boolean
}

/**
 * The platform's own modal dialog: top layer, inert background, focus kept
 * inside and given back, Escape. It needs no injected style, which the policy
 * of the page would refuse. The first field has the focus; Ctrl or ⌘ with
 * Enter does the main action; Escape asks before it loses what was typed.
 */
export function Dialog({ title, onClose, children, className, bare = false, keeps = bare }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const [typed, setTyped] = useState(false)
  const [asking, setAsking] = useState(false)
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const touch = useFirstField(ref)
  const leave = () => {
    if (typed && !keeps && !asking) setAsking(true)
    else onClose()
  }
  return (
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        leave()
      }}
      // A browser closes by itself when Escape is pressed twice in a row.
      onClose={() => {
        if (ref.current?.open === false) onClose()
      }}
      onInput={() => {
        setTyped(true)
        setAsking(false)
      }}
      onPointerDown={touch}
      onKeyDown={(event) => {
        touch()
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(ref.current, event)
      }}
      onClick={(event) => {
        if (event.target === ref.current) leave()
      }}
      className={cn(
        'max-h-[85vh] max-w-[94vw] overflow-hidden rounded-md border border-line-strong bg-panel p-0',
        className ?? 'w-[560px]',
      )}
    >
      <div className="flex max-h-[85vh] flex-col">
        <div className={bare ? 'sr-only' : 'flex items-center border-b border-line px-4 py-2'}>
          <h2 id={heading} className="flex-1 text-md font-semibold">
            {title}
          </h2>
          <CloseButton onClose={onClose} />
        </div>
        {children}
        {asking ? <Unsaved onStay={() => setAsking(false)} onClose={onClose} /> : null}
      </div>
    </dialog>
  )
}

const field = 'input, textarea, select'

/**
 * Focus goes to the first field as soon as there is one: what a form needs may
 * still be loading. Whoever has begun to do something is not moved any more.
 */
function useFirstField(ref: { readonly current: HTMLDialogElement | null }): () => void {
  const placed = useRef(false)
  useEffect(() => {
    if (placed.current) return
    const usable = (one: Element) => !one.matches(':disabled, [readonly], [type="hidden"]')
    const first = [...(ref.current?.querySelectorAll<HTMLElement>(field) ?? [])].find(usable)
    if (first === undefined) return
    placed.current = true
    first.focus()
  })
  return () => {
    placed.current = true
  }
}

function submit(dialog: HTMLDialogElement | null, event: SyntheticEvent): void {
  const main =
    dialog?.querySelector<HTMLElement>('[data-main]') ??
    dialog?.querySelector<HTMLElement>('button[type="submit"]')
  if (main === null || main === undefined) return
  event.preventDefault()
  main.click()
}

function Unsaved({ onStay, onClose }: { onStay(): void; onClose(): void }) {
  const { t } = useTranslation()
  return (
    <div
      role="alert"
      className="flex items-center gap-2 border-t border-amber/40 bg-amber-soft px-4 py-2"
    >
      <p className="flex-1">{t('common.unsaved')}</p>
      <Button size="small" onClick={onStay}>
        {t('common.keepEditing')}
      </Button>
      <Button size="small" look="danger" onClick={onClose}>
        {t('common.discard')}
      </Button>
    </div>
  )
}

function CloseButton({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  return (
    <Button look="ghost" size="icon" aria-label={t('common.close')} onClick={onClose}>
      <X aria-hidden />
    </Button>
  )
}
