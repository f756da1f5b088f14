import { useAsks } from '@/api/asks'
import type { TaskId } from '@/domain/model'
import { AskList } from './AskList'

/** What the agents of one task wait for. */
export function TaskAsks({ task }: { task: TaskId }) {
  const asks = useAsks().data ?? []
  return <AskList asks={asks.filter((ask) => ask.task === task)} linked={false} />
}
