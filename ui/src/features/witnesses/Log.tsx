import { Retention } from './Retention'
import { Witnesses } from './Witnesses'

/** How long the audit log keeps contents, and who else knows how it was. */
export function Log() {
  return (
    <>
      <Retention />
      <Witnesses />
    </>
  )
}
