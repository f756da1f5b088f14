import { useQuery } from '@tanstack/react-query'
import { type DiffFile, type DiffSet, fileKinds, fileStatuses, type Hunk } from '@/domain/diff'
import { oneOf, type Task } from '@/domain/model'
import { api, unwrap } from './client'
import type { components } from './schema'

type Wire = components['schemas']

function toHunk(wire: Wire['Hunk']): Hunk {
  return {
    oldStart: wire.old_start,
    oldLines: wire.old_lines,
    newStart: wire.new_start,
    newLines: wire.new_lines,
    section: wire.section ?? '',
    lines: (wire.lines ?? []).map((line) => ({
      op: oneOf([' ', '+', '-'] as const, line.op, ' '),
      text: line.text,
      noEol: line.no_eol ?? false,
      cut: line.truncated ?? false,
    })),
  }
}

function toFile(wire: Wire['File']): DiffFile {
  return {
    path: wire.path,
    oldPath: wire.old_path ?? '',
    status: oneOf(fileStatuses, wire.status, 'modified'),
    kind: oneOf(fileKinds, wire.kind, 'binary'),
    oldMode: wire.old_mode,
    newMode: wire.new_mode,
    oldOid: wire.old_oid,
    newOid: wire.new_oid,
    oldSize: wire.old_size,
    newSize: wire.new_size,
    similarity: wire.similarity,
    added: wire.added,
    deleted: wire.deleted,
    hunks: (wire.hunks ?? []).map(toHunk),
    truncated: wire.truncated,
    warnings: wire.warnings ?? [],
  }
}

function toDiff(wire: Wire['Set']): DiffSet {
  return {
    from: wire.from,
    to: wire.to,
    files: (wire.files ?? []).map(toFile),
    truncated: wire.truncated,
    added: wire.added,
    deleted: wire.deleted,
  }
}

/**
 * The key holds the head: a new snapshot is another diff. While more lines of
 * the same one are read, what is there stays.
 */
export function useDiff(task: Task, lines?: number) {
  const head = task.attempt?.head ?? ''
  return useQuery({
    queryKey: ['task', task.id, 'diff', head, lines ?? 0],
    queryFn: async () =>
      toDiff(
        await unwrap(
          api.GET('/api/tasks/{id}/diff', {
            params: {
              path: { id: task.id },
              query: lines === undefined ? {} : { max_lines: lines },
            },
          }),
        ),
      ),
    enabled: head !== '',
    placeholderData: (before, query) => (query?.queryKey[3] === head ? before : undefined),
  })
}
