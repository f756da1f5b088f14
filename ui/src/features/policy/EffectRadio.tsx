import { useId } from 'react'
import { cn } from '@/components/cn'

type Tone = 'green' | 'amber' | 'blue' | 'red'

const tones: Record<Tone, string> = {
  green: 'has-checked:bg-green-soft has-checked:text-green',
  amber: 'has-checked:bg-amber-soft has-checked:text-amber',
  blue: 'has-checked:bg-blue-soft has-checked:text-blue',
  red: 'has-checked:bg-red-soft has-checked:text-red',
}

type EffectOption<T extends string> = { value: T; label: string; tone: Tone }

type Props<T extends string> = {
  /** What is decided, for a reader who does not see the row. */
  legend: string
  value: T
  options: readonly EffectOption<T>[]
  onChange(value: T): void
}

/** One choice of a few, side by side; real radios below, so arrows move it. */
export function EffectRadio<T extends string>({ legend, value, options, onChange }: Props<T>) {
  const name = useId()
  return (
    <fieldset className="inline-flex shrink-0 overflow-hidden rounded-md border border-line-strong">
      <legend className="sr-only">{legend}</legend>
      {options.map((one) => (
        <label
          key={one.value}
          className={cn(
            'relative flex h-6 cursor-pointer items-center border-r border-line-strong px-2 text-sm text-t3 last:border-r-0 hover:bg-hover has-checked:font-medium has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-blue',
            tones[one.tone],
          )}
        >
          <input
            type="radio"
            className="sr-only"
            name={name}
            value={one.value}
            checked={one.value === value}
            onChange={() => onChange(one.value)}
          />
          {one.label}
        </label>
      ))}
    </fieldset>
  )
}
