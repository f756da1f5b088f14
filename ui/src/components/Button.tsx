import { cva, type VariantProps } from 'class-variance-authority'
import type { ComponentProps } from 'react'
import { useTranslation } from 'react-i18next'
import { useWindow } from '@/store/window'
import { cn } from './cn'

const button = cva(
  'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-60 disabled:cursor-not-allowed [&_svg]:size-3.5 [&_svg]:shrink-0',
  {
    variants: {
      look: {
        plain: 'border-line-strong bg-card text-t1 enabled:hover:bg-hover',
        solid: 'border-transparent bg-blue-solid text-on-solid enabled:hover:brightness-110',
        danger: 'border-transparent bg-red-solid text-on-solid enabled:hover:brightness-110',
        ghost: 'border-transparent text-t2 enabled:hover:bg-hover enabled:hover:text-t1',
      },
      size: {
        small: 'h-6 px-2 text-sm',
        normal: 'h-7 px-2.5 text-base',
        icon: 'size-7',
        mini: 'size-6',
      },
    },
    defaultVariants: { look: 'plain', size: 'normal' },
  },
)

type Props = ComponentProps<'button'> &
  VariantProps<typeof button> & {
    /** It changes something at the host, and is locked while there is none. */
    changes?: boolean
  }

export function Button({ look, size, className, type = 'button', changes, ...rest }: Props) {
  const { t } = useTranslation()
  const lost = useWindow((state) => !state.online) && changes === true
  return (
    <button
      type={type}
      className={cn(button({ look, size }), className)}
      {...rest}
      {...(lost ? { disabled: true, title: t('common.lost') } : {})}
    />
  )
}
