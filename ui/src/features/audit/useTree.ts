import { useEffect, useMemo, useRef, useState } from 'react'
import { type MessagePage, useContexts, useMessages, useStages } from '@/api/auditTrace'
import { type Context, type StageRef, stageKey } from '@/domain/auditCall'
import { type AuditFilter, noFilter } from '@/domain/auditFilter'
import type { Message } from '@/domain/auditMessage'
import { type AuditPlace, fromWire, stageOf } from '@/domain/auditPlace'
import {
  contextKey,
  type Loaded,
  messageKey,
  partKey,
  stageRowKey,
  type TreeRow,
  treeRows,
} from '@/domain/auditTree'

export type Tree = {
  contexts: ReturnType<typeof useContexts>
  rows: TreeRow[]
  selected: string
  toggle(key: string, open: boolean): void
  /** Reads what comes after the row that says there is more. */
  more(row: TreeRow): void
  stageNamed(stage: StageRef): ReturnType<ReturnType<typeof useStages>>
  contextNamed(task: string): Context | undefined
}

/** The tree as far as somebody has opened it. What is selected is open. */
export function useTree(filter: AuditFilter, place: AuditPlace): Tree {
  const contexts = useContexts(filter)
  const list = usePinned(contexts, filter, place.task)
  const { open, toggle } = useOpen(place)
  const opened = useOpened(list, open, place)
  const stages = useStages(opened, filter)
  useSingle(list, contexts.data?.pages[0]?.next === '', opened, stages, toggle)
  const shown = opened
    .flatMap((task) => {
      const loaded = stages(task)
      return loaded.state === 'ready' ? loaded.items : []
    })
    .filter((stage) => open.has(stageRowKey(stage)))
  const [messages, more] = usePages(shown, filter)
  const rows = treeRows({
    contexts: list,
    more: contexts.hasNextPage,
    open,
    stages,
    messages,
  })
  return {
    contexts,
    rows,
    selected: selectedKey(place),
    toggle,
    more: (row) => {
      if (row.parent !== '') more(row.parent)
      else if (!contexts.isFetchingNextPage) void contexts.fetchNextPage()
    },
    stageNamed: (stage) => stages(stage.task),
    contextNamed: (task) => list.find((context) => context.task === task),
  }
}

/** The tasks of the pages, before them the selected one if no page has it yet. */
function usePinned(
  contexts: ReturnType<typeof useContexts>,
  filter: AuditFilter,
  wanted: string | undefined,
): Context[] {
  const list = useMemo(() => {
    // A task whose rows grow moves to the front and is then on two pages.
    const seen = new Map<string, Context>()
    for (const page of contexts.data?.pages ?? [])
      for (const context of page.items) if (!seen.has(context.task)) seen.set(context.task, context)
    return [...seen.values()]
  }, [contexts.data])
  const missing =
    wanted !== undefined &&
    !contexts.isPending &&
    !list.some((context) => context.task === fromWire(wanted))
  const alone = useContexts(missing ? { ...noFilter, task: wanted } : filter)
  const pinned = missing ? alone.data?.pages[0]?.items[0] : undefined
  return pinned === undefined || list.includes(pinned) ? list : [pinned, ...list]
}

function selectedKey(place: AuditPlace): string {
  const stage = stageOf(place)
  if (place.task === undefined) return ''
  if (stage === null) return contextKey(fromWire(place.task))
  if (place.message === undefined) return stageRowKey(stage)
  const message = messageKey(stage, place.message)
  return place.part === undefined ? message : partKey(stage, place.message, place.part - 1)
}

/** What is above the selection, and the selection where it is a branch. */
function pathTo(place: AuditPlace): string[] {
  if (place.task === undefined) return []
  const stage = stageOf(place)
  const keys = [contextKey(fromWire(place.task))]
  if (stage !== null) keys.push(stageRowKey(stage))
  if (stage !== null && place.message !== undefined && place.part !== undefined)
    keys.push(messageKey(stage, place.message))
  return keys
}

function useOpen(place: AuditPlace) {
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(pathTo(place)))
  const path = pathTo(place).join('\0')
  useEffect(() => {
    if (path !== '') setOpen((old) => new Set([...old, ...path.split('\0')]))
  }, [path])
  const toggle = (key: string, want: boolean) =>
    setOpen((old) => {
      const next = new Set(old)
      if (want) next.add(key)
      else next.delete(key)
      return next
    })
  return { open, toggle }
}

/** The open tasks, the selected one even before its page is there. */
function useOpened(list: Context[], open: ReadonlySet<string>, place: AuditPlace): string[] {
  const wanted = place.task === undefined ? [] : [fromWire(place.task)]
  const tasks = new Set([...wanted, ...list.map((context) => context.task)])
  return [...tasks].filter((task) => open.has(contextKey(task)))
}

/** A branch that has one twig opens with it; what somebody closes stays closed. */
function useSingle(
  list: Context[],
  all: boolean,
  opened: string[],
  stages: ReturnType<typeof useStages>,
  toggle: (key: string, open: boolean) => void,
): void {
  const done = useRef(new Set<string>())
  const keys: string[] = []
  const [only] = list
  if (all && list.length === 1 && only !== undefined) keys.push(contextKey(only.task))
  for (const task of opened) {
    const loaded = stages(task)
    const [stage] = loaded.state === 'ready' ? loaded.items : []
    if (loaded.state === 'ready' && loaded.items.length === 1 && stage !== undefined)
      keys.push(stageRowKey(stage))
  }
  const wanted = keys.filter((key) => !done.current.has(key)).join('\0')
  useEffect(() => {
    if (wanted === '') return
    for (const key of wanted.split('\0')) {
      done.current.add(key)
      toggle(key, true)
    }
  })
}

type MessagesOf = (stage: StageRef) => Loaded<Message>

/** Pages of messages: the first of each open stage, and those asked for. */
function usePages(stages: StageRef[], filter: AuditFilter): [MessagesOf, (key: string) => void] {
  const [asked, setAsked] = useState<ReadonlyMap<string, string[]>>(new Map())
  const words = filter.q
  // Other words, other pages.
  const id = (stage: StageRef) => `${stageRowKey(stage)}\0${filter.part}\0${words}`
  const pages: MessagePage[] = stages.flatMap((stage) =>
    ['', ...(asked.get(id(stage)) ?? [])].map((after) => ({ stage, after })),
  )
  const results = useMessages(pages, filter)
  const of = (stage: StageRef): Loaded<Message> => {
    const items: Message[] = []
    let [more, note] = [false, '']
    for (const [index, page] of pages.entries()) {
      if (stageKey(page.stage) !== stageKey(stage)) continue
      const result = results[index]
      if (result instanceof Error) {
        if (page.after === '') return { state: 'error', error: result }
        break
      }
      if (result === undefined) {
        if (page.after === '') return { state: 'loading' }
        return { state: 'ready', items, more: true, note }
      }
      items.push(...result.items)
      more = result.next !== ''
      note = result.note
    }
    return { state: 'ready', items, more, note }
  }
  const next = (key: string) => {
    const stage = stages.find((one) => stageRowKey(one) === key)
    if (stage === undefined) return
    const loaded = of(stage)
    const last = loaded.state === 'ready' ? loaded.items.at(-1) : undefined
    if (last === undefined) return
    setAsked((old) => {
      const have = old.get(id(stage)) ?? []
      if (have.includes(last.id)) return old
      return new Map(old).set(id(stage), [...have, last.id])
    })
  }
  return [of, next]
}
