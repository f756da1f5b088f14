import { type ClassValue, clsx } from 'clsx'
import { extendTailwindMerge } from 'tailwind-merge'

// Our text sizes and text colours share the prefix; tell the merger apart.
const merge = extendTailwindMerge({
  extend: { theme: { text: ['xs', 'sm', 'base', 'md', 'lg'] } },
})

export function cn(...classes: ClassValue[]): string {
  return merge(clsx(classes))
}
