import { cva, type VariantProps } from 'class-variance-authority'
import type { ReactNode } from 'react'
import { cn } from './cn'
import { Tip } from './Tip'

const chip = cva(
  'inline-flex h-5 items-center gap-1 rounded-sm border px-1.5 text-xs font-medium whitespace-nowrap [&_svg]:size-3 [&_svg]:shrink-0',
  {
    variants: {
      tone: {
        plain: 'border-line-strong text-t2',
        blue: 'border-blue/40 bg-blue-soft text-blue',
        amber: 'border-amber/40 bg-amber-soft text-amber',
        green: 'border-green/40 bg-green-soft text-green',
        red: 'border-red/40 bg-red-soft text-red',
        violet: 'border-violet/40 text-violet',
        cyan: 'border-cyan/40 text-cyan',
      },
    },
    defaultVariants: { tone: 'plain' },
  },
)

type Props = VariantProps<typeof chip> & {
  children: ReactNode
  /** Explanation shown on hover and focus. */
  why?: string | undefined
  icon?: ReactNode
  className?: string
}

export function Chip({ tone, children, why, icon, className }: Props) {
  const body = (
    <span className={cn(chip({ tone }), className)}>
      {icon}
      {children}
    </span>
  )
  return why === undefined || why === '' ? body : <Tip text={why}>{body}</Tip>
}
