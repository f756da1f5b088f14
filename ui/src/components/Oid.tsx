import { shortId } from '@/domain/model'

/** An object id: short to see, whole to copy and to hover. */
export function Oid({ oid }: { oid: string }) {
  if (oid === '') return <span className="text-t4">–</span>
  return (
    <code title={oid} className="rounded-sm bg-inset px-1 font-mono text-sm text-cyan">
      {shortId(oid)}
    </code>
  )
}
