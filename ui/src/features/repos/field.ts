import type { Problem } from '@/api/problem'

/** The field an error of the domain is about, by its stable code. */
export function fieldOf(problem: Problem): 'path' | 'name' | 'target' | 'ci' | null {
  for (const name of ['path', 'name', 'target', 'ci'] as const) {
    if (problem.field(name) !== undefined) return name
  }
  if (/name/.test(problem.code)) return 'name'
  if (/branch|target/.test(problem.code)) return 'target'
  if (/gate|ci|argv|policy|timeout/.test(problem.code)) return 'ci'
  if (/path|repo|git|unborn|bare|gone/.test(problem.code)) return 'path'
  return null
}
