import { type RefObject, useEffect, useEffectEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { dropOn } from '@/domain/actions'
import type { Column, Task } from '@/domain/model'
import { usePerform } from '@/features/task/useActions'
import { useToasts } from '@/store/toasts'

// Dragging is a second way to do what the menu does: it may arrive after the
// first paint.
const adapter = () => import('@atlaskit/pragmatic-drag-and-drop/element/adapter')

/** Runs a registration once its module is there, unless undone before that. */
function afterLoad(register: (dnd: Awaited<ReturnType<typeof adapter>>) => () => void): () => void {
  let undo: (() => void) | undefined
  let gone = false
  void adapter().then((dnd) => {
    if (!gone) undo = register(dnd)
  })
  return () => {
    gone = true
    undo?.()
  }
}

const key = 'moeca-task'

function taskOf(data: Record<string | symbol, unknown>): Task | null {
  const value = data[key]
  return value === undefined ? null : (value as Task)
}

export function useDraggableCard(ref: RefObject<HTMLElement | null>, task: Task): boolean {
  const [dragging, setDragging] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    return afterLoad(({ draggable }) =>
      draggable({
        element,
        getInitialData: () => ({ [key]: task }),
        onDragStart: () => setDragging(true),
        onDrop: () => setDragging(false),
      }),
    )
  }, [ref, task])
  return dragging
}

export type Over = 'none' | 'takes' | 'refuses'

/** A column takes a card by performing an action, or says why it does not. */
export function useDropColumn(ref: RefObject<HTMLElement | null>, column: Column): Over {
  const { t } = useTranslation()
  const perform = usePerform()
  const show = useToasts((state) => state.show)
  const [over, setOver] = useState<Over>('none')
  const onTask = useEffectEvent((task: Task) => {
    const drop = dropOn(task, column)
    if (drop.ok) perform(task, drop.action)
    else if (drop.why !== 'same_column') {
      show(t('action.refused', { why: t(`refusal.${drop.why}`) }))
    }
  })
  useEffect(() => {
    const element = ref.current
    if (element === null) return
    return afterLoad(({ dropTargetForElements }) =>
      dropTargetForElements({
        element,
        canDrop: ({ source }) => taskOf(source.data) !== null,
        onDragEnter({ source }) {
          const task = taskOf(source.data)
          if (task !== null) setOver(dropOn(task, column).ok ? 'takes' : 'refuses')
        },
        onDragLeave: () => setOver('none'),
        onDrop({ source }) {
          setOver('none')
          const task = taskOf(source.data)
          if (task !== null) onTask(task)
        },
      }),
    )
  }, [ref, column])
  return over
}
