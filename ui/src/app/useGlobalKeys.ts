import { useEffect } from 'react'
import { isTyping } from '@/domain/keyboard'
import { useDialogs } from '@/store/dialogs'

/** Keys that work on every screen. */
export function useGlobalKeys(): void {
  const { open, show } = useDialogs()
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        show({ kind: 'palette' })
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || open.kind !== 'none') return
      if (isTyping(event.target)) return
      switch (event.key) {
        case 'c':
          show({ kind: 'task', repo: null })
          break
        case '?':
          show({ kind: 'shortcuts' })
          break
        case '/':
          document.querySelector<HTMLElement>('[data-filter]')?.focus()
          break
        default:
          return
      }
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [open.kind, show])
}
