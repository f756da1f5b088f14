import { Tooltip } from 'radix-ui'
import type { ReactElement } from 'react'

/** Words on hover; never the only place something is said. */
export function Tip({ text, children }: { text: string; children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={4}
          collisionPadding={8}
          className="z-70 max-w-80 rounded-md border border-line-strong bg-card px-2 py-1 text-sm text-t1"
        >
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
