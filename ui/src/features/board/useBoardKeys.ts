import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { type Direction, isTyping, step } from '@/domain/keyboard'
import type { Column, Task } from '@/domain/model'
import { useDialogs } from '@/store/dialogs'

const ways: Record<string, Direction> = {
  j: 'next',
  ArrowDown: 'next',
  k: 'previous',
  ArrowUp: 'previous',
  h: 'left',
  ArrowLeft: 'left',
  l: 'right',
  ArrowRight: 'right',
}

/** J/K walk, Enter opens, "." opens the actions of the card. */
export function useBoardKeys(board: Record<Column, Task[]>, drawerOpen: boolean): void {
  const navigate = useNavigate()
  const { selected, select, open } = useDialogs()
  useEffect(() => {
    if (drawerOpen || open.kind !== 'none') return
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (isTyping(event.target) || inMenu(event.target)) return
      const way = ways[event.key]
      if (way !== undefined) {
        const next = step(board, selected, way)
        select(next)
        requestAnimationFrame(() => focusCard(next))
        event.preventDefault()
      } else if (event.key === '.' && selected !== null) {
        openMenu(selected)
        event.preventDefault()
      } else if (event.key === 'Enter' && selected !== null && !onControl(event.target)) {
        void navigate({ to: '/tasks/$taskId', params: { taskId: selected }, search: (old) => old })
      }
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [board, drawerOpen, open.kind, selected, select, navigate])
}

function focusCard(id: string | null): void {
  if (id === null) return
  document.querySelector<HTMLElement>(`[data-card-title="${CSS.escape(id)}"]`)?.focus()
}

function openMenu(id: string): void {
  const button = document.querySelector<HTMLElement>(`[data-card-menu="${CSS.escape(id)}"]`)
  button?.focus()
  button?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }))
}

function inMenu(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="menu"]') !== null
}

function onControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('button, a') !== null
}
