import { type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ActionId, hasResult } from '@/domain/actions'
import { type Limit, wireTaskLimit } from '@/domain/limit'
import type { RepoId, Review, Task, TaskId } from '@/domain/model'
import { api, settle, unwrap } from './client'
import { reposKey } from './repos'
import type { components } from './schema'
import { toReview, toTask } from './wire'

export const tasksKey = ['tasks'] as const
const taskKey = (id: TaskId) => ['task', id] as const
const reviewKey = (id: TaskId) => ['task', id, 'review'] as const

const pageSize = 500

async function allTasks(): Promise<Task[]> {
  const out: Task[] = []
  let cursor = ''
  do {
    const query = cursor === '' ? { limit: pageSize } : { limit: pageSize, cursor }
    const page = await unwrap(api.GET('/api/tasks', { params: { query } }))
    out.push(...(page.items ?? []).map(toTask))
    cursor = page.next ?? ''
  } while (cursor !== '')
  return out
}

async function oneTask(id: TaskId): Promise<Task> {
  return toTask(await unwrap(api.GET('/api/tasks/{id}', { params: { path: { id } } })))
}

export function useTasks() {
  return useQuery({ queryKey: tasksKey, queryFn: allTasks })
}

export function useTask(id: TaskId) {
  return useQuery({ queryKey: taskKey(id), queryFn: () => oneTask(id) })
}

async function oneReview(id: TaskId): Promise<Review> {
  return toReview(await unwrap(api.GET('/api/tasks/{id}/review', { params: { path: { id } } })))
}

/** What an approval would be about; there is none before there is a result. */
export function useReview(task: Task) {
  return useQuery({
    queryKey: reviewKey(task.id),
    queryFn: () => oneReview(task.id),
    enabled: hasResult(task),
  })
}

/** Puts one task, read again, into every list that holds it. */
export async function refreshTask(queries: QueryClient, id: TaskId): Promise<void> {
  let task: Task
  try {
    task = await oneTask(id)
  } catch {
    await queries.invalidateQueries({ queryKey: tasksKey })
    return
  }
  queries.setQueryData<Task[]>(tasksKey, (list) => {
    if (list === undefined) return list
    const rest = list.filter((other) => other.id !== id)
    return [task, ...rest]
  })
  queries.setQueryData(taskKey(id), task)
  await queries.invalidateQueries({ queryKey: reviewKey(id) })
}

export function forgetTask(queries: QueryClient, id: TaskId): void {
  queries.setQueryData<Task[]>(tasksKey, (list) => list?.filter((task) => task.id !== id))
  void queries.invalidateQueries({ queryKey: taskKey(id), exact: true })
}

export type NewTask = {
  repoId: RepoId
  title: string
  detail: string
  base: string
  target: string
  provider: string
  model: string
}

export function useCreateTask() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (form: NewTask): Promise<Task> =>
      toTask(
        await unwrap(
          api.POST('/api/tasks', {
            body: {
              repo_id: form.repoId,
              title: form.title,
              detail: form.detail,
              base: form.base,
              target: form.target,
              template: 'solo',
              provider: form.provider,
              model: form.model,
            },
          }),
        ),
      ),
    onSuccess: (task) => refreshTask(queries, task.id),
  })
}

/** A repository to play with and a task for the scripted model, not yet run. */
export function useBeginDemo() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (): Promise<Task> => toTask(await unwrap(api.POST('/api/demo'))),
    onSuccess: (task) =>
      Promise.all([
        refreshTask(queries, task.id),
        queries.invalidateQueries({ queryKey: reposKey }),
      ]),
  })
}

export function useEditTask(task: Task) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (form: { title: string; detail: string }) =>
      settle(
        api.PATCH('/api/tasks/{id}', {
          params: { path: { id: task.id } },
          body: { ...form, version: task.version },
        }),
      ),
    onSettled: () => refreshTask(queries, task.id),
  })
}

export type TaskMeans = { budget: Limit; runBudget: Limit; reach: string[] }

/** What a task may spend and reach; also while it runs. */
export function useSetMeans(task: Task) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ budget, runBudget, reach }: TaskMeans) =>
      settle(
        api.PATCH('/api/tasks/{id}', {
          params: { path: { id: task.id } },
          body: {
            version: task.version,
            budget: wireTaskLimit(budget),
            run_budget: wireTaskLimit(runBudget),
            reach,
          },
        }),
      ),
    onSettled: () => refreshTask(queries, task.id),
  })
}

/** Everything a card can be told to do; "review" is navigation, not a call. */
export function useTaskAction() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: ({ task, action }: { task: Task; action: Exclude<ActionId, 'review'> }) =>
      perform(task, action),
    onSettled: (_data, _error, { task, action }) =>
      action === 'delete' ? forgetTask(queries, task.id) : refreshTask(queries, task.id),
  })
}

function perform(task: Task, action: Exclude<ActionId, 'review'>): Promise<void> {
  const params = { path: { id: task.id } }
  switch (action) {
    case 'run':
      return settle(api.POST('/api/tasks/{id}/run', { params }))
    case 'ci':
      return settle(api.POST('/api/tasks/{id}/ci', { params }))
    case 'cancel':
      return settle(api.POST('/api/tasks/{id}/cancel', { params }))
    case 'delete':
      return settle(api.DELETE('/api/tasks/{id}', { params }))
    case 'stop': {
      const id = task.attempt?.run?.id ?? ''
      return settle(api.POST('/api/runs/{id}/stop', { params: { path: { id } } }))
    }
  }
}

export type Landed = { commit: string; seq: number; note: string }

type Merged = components['schemas']['Merged']

/** One request, two records: the approval of what was shown, and the merge. */
async function land(id: TaskId, bound: Landing): Promise<Merged> {
  const { review, acks, unviewed } = bound
  const params = { path: { id } }
  // An approval that still holds is not given a second time.
  if (review.approved.state === 'holds') {
    return unwrap(api.POST('/api/tasks/{id}/merge', { params }))
  }
  const { head, targetOid, resultTree } = review.preview
  const body = { head, target_oid: targetOid, result_tree: resultTree, acks, unviewed }
  return (await unwrap(api.POST('/api/tasks/{id}/approve-and-merge', { params, body }))).merged
}

type Landing = { review: Review; acks: string[]; unviewed: string[] }

export function useApproveAndMerge(id: TaskId) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (bound: Landing): Promise<Landed> => {
      const merged = await land(id, bound)
      return { commit: merged.commit, seq: merged.audit_seq, note: merged.note ?? '' }
    },
    onSettled: () => refreshTask(queries, id),
  })
}
