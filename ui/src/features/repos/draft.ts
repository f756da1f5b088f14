import { joinWords, splitWords } from '@/domain/argv'
import type { Gate, Repo } from '@/domain/model'

/** What stands in the form, as the person typed it. */
export type RepoDraft = {
  path: string
  name: string
  target: string
  command: string
  policy: string
  timeout: string
}

export const emptyDraft: RepoDraft = {
  path: '',
  name: '',
  target: '',
  command: '',
  policy: 'poly',
  timeout: '600',
}

export function toDraft(repo: Repo): RepoDraft {
  return {
    path: repo.path,
    name: repo.name,
    target: repo.target,
    command: joinWords(repo.ci?.argv ?? []),
    policy: repo.ci?.policy || emptyDraft.policy,
    timeout: repo.ci ? String(repo.ci.timeoutSeconds) : emptyDraft.timeout,
  }
}

export function toGate(draft: RepoDraft): { ok: true; gate: Gate | null } | { ok: false } {
  const words = splitWords(draft.command)
  if (!words.ok) return { ok: false }
  if (words.words.length === 0) return { ok: true, gate: null }
  const timeoutSeconds = Math.max(1, Number.parseInt(draft.timeout, 10) || 600)
  return { ok: true, gate: { policy: draft.policy, argv: words.words, timeoutSeconds } }
}
