import { AuditDetail } from './AuditDetail'
import { AuditList } from './AuditList'
import type { TabProps } from './TraceTab'

/** Every row of the log, also those that belong to no call. */
export function RowsTab({ place, filter, go }: TabProps) {
  const seq = place.seq ?? 0
  return (
    <div className="flex min-h-0 flex-1">
      <div className="flex min-w-0 flex-1 flex-col">
        <AuditList
          filter={filter}
          selected={seq}
          live={place.live === true}
          onSelect={(next) => go({ seq: next }, true)}
        />
      </div>
      {seq === 0 ? null : (
        <AuditDetail key={seq} seq={seq} onClose={() => go({ seq: undefined })} />
      )}
    </div>
  )
}
