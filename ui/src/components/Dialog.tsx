import { X } from 'lucide-react'
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { Button } from './Button'
import { cn } from './cn'

type Props = {
  title: string
  onClose(): void
  children: ReactNode
  className?: string
  bare?: boolean
}

/**
 * The platform's own modal dialog: top layer, inert background, focus kept
 * inside and given back, Escape. It needs no injected style, which the policy
 * of the page would refuse.
 */
export function Dialog({ title, onClose, children, className, bare = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on the backdrop closes; Escape is the dialog's own key
    <dialog
      ref={ref}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose()
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
      </div>
    </dialog>
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
