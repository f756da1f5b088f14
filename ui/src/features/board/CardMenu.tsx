import { Ellipsis } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { Menu, MenuItem, MenuLabel, MenuLine } from '@/components/Menu'
import { dropOn } from '@/domain/actions'
import { plain } from '@/domain/bidi'
import { columns, type Task } from '@/domain/model'
import { useActions, usePerform } from '@/features/task/useActions'

/** The same as dragging, for the keyboard, and everything a task can do. */
export function CardMenu({ task }: { task: Task }) {
  const { t } = useTranslation()
  const label = t('action.menu', { title: plain(task.title) })
  return (
    <Menu
      label={label}
      trigger={
        <Button
          look="ghost"
          size="mini"
          aria-label={label}
          data-card-menu={task.id}
          onClick={(event) => event.stopPropagation()}
        >
          <Ellipsis aria-hidden />
        </Button>
      }
    >
      <MenuLabel>{t('action.move')}</MenuLabel>
      <MoveItems task={task} />
      <MenuLine />
      <ActionItems task={task} />
    </Menu>
  )
}

function MoveItems({ task }: { task: Task }) {
  const { t } = useTranslation()
  const perform = usePerform()
  return columns
    .filter((column) => column !== task.column)
    .map((column) => {
      const drop = dropOn(task, column)
      return (
        <MenuItem
          key={column}
          refused={drop.ok ? undefined : t(`refusal.${drop.why}`)}
          onSelect={() => drop.ok && perform(task, drop.action)}
        >
          {t(`column.${column}`)}
        </MenuItem>
      )
    })
}

function ActionItems({ task }: { task: Task }) {
  return useActions(task).map((action) => (
    <MenuItem
      key={action.id}
      danger={action.danger && action.refused === undefined}
      refused={action.refused}
      onSelect={action.perform}
    >
      {action.label}
    </MenuItem>
  ))
}
