import type { Budget } from '@/domain/budget'
import { Meter } from './Meter'

type Props = {
  /** Whose budget it is, for a reader who does not see the heading. */
  of: string
  budget: Pick<Budget, 'limit' | 'spent'> & Partial<Pick<Budget, 'reserved'>>
}

/** Both kinds of one budget, side by side where there is room. */
export function Meters({ of, budget: { limit, spent, reserved } }: Props) {
  return (
    <div className="grid grid-cols-1 gap-x-6 gap-y-1 lg:grid-cols-2">
      <Meter
        unit="tokens"
        of={of}
        limit={limit.tokens}
        spent={spent.tokens}
        reserved={reserved?.tokens ?? 0}
      />
      <Meter
        unit="usd"
        of={of}
        limit={limit.cost}
        spent={spent.cost}
        reserved={reserved?.cost ?? 0}
      />
    </div>
  )
}
