import { DropdownMenu } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'
import { cn } from './cn'

type Props = { trigger: ReactElement; label: string; children: ReactNode }

/** Not modal: a modal one would inject a style element to lock scrolling. */
export function Menu({ trigger, label, children }: Props) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label={label}
          className="row-menu"
          onClick={(event) => event.stopPropagation()}
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

type ItemProps = {
  onSelect(): void
  children: ReactNode
  /** Why it is locked; shown in the item itself. */
  refused?: string | undefined
  danger?: boolean
  checked?: boolean
}

export function MenuItem({ onSelect, children, refused, danger = false, checked }: ItemProps) {
  return (
    <DropdownMenu.Item
      disabled={refused !== undefined}
      onSelect={onSelect}
      {...(checked === undefined ? {} : { role: 'menuitemradio', 'aria-checked': checked })}
      className={cn(
        'flex max-w-80 flex-col rounded-sm px-2 py-1 text-base outline-none select-none data-highlighted:bg-hover',
        danger && 'text-red',
        refused !== undefined && 'text-t4',
        checked === true && 'font-semibold text-blue',
      )}
    >
      {children}
      {refused === undefined ? null : <span className="text-sm text-t4">{refused}</span>}
    </DropdownMenu.Item>
  )
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return (
    <DropdownMenu.Label className="px-2 pt-1.5 pb-0.5 text-xs text-t3">
      {children}
    </DropdownMenu.Label>
  )
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />
}
