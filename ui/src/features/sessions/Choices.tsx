import { useId } from 'react'

type Option = { value: string; label: string; note: string }

type Props = {
  legend: string
  help: string
  error: string | undefined
  options: Option[]
  chosen: string[]
  onChange(chosen: string[]): void
  /** One below the other, for options that are sentences. */
  rows?: boolean
}

/** Any number of a few. */
export function Choices({ legend, help, error, options, chosen, onChange, rows = false }: Props) {
  const id = useId()
  return (
    <fieldset aria-describedby={id} className="flex flex-col gap-1">
      <legend className="mb-1 text-sm font-medium text-t2">{legend}</legend>
      <div className={rows ? 'flex flex-col gap-1' : 'flex flex-wrap gap-x-4 gap-y-1'}>
        {options.map(({ value, label, note }) => (
          <label key={value} className="flex items-baseline gap-2">
            <input
              type="checkbox"
              className="translate-y-0.5"
              checked={chosen.includes(value)}
              onChange={({ target }) =>
                onChange(
                  target.checked ? [...chosen, value] : chosen.filter((one) => one !== value),
                )
              }
            />
            <span>
              {label} <span className="text-t3">{note}</span>
            </span>
          </label>
        ))}
      </div>
      <p
        id={id}
        role={error === undefined ? undefined : 'alert'}
        className={error === undefined ? 'text-sm text-t3' : 'text-sm text-red'}
      >
        {error ?? help}
      </p>
    </fieldset>
  )
}
