import { Plus } from 'lucide-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useSessions } from '@/api/sessions'
import { Button } from '@/components/Button'
import { Empty, ErrorNote, SkeletonLines } from '@/components/State'
import { Panel } from '@/features/settings/Panel'
import { SessionDialog } from './SessionDialog'
import { SessionRow } from './SessionRow'

/** Tokens for programs on this machine, and the sessions of sandboxes. */
export function Sessions() {
  const { t } = useTranslation()
  const sessions = useSessions()
  const [open, setOpen] = useState(false)
  const list = sessions.data ?? []
  const programs = list.filter((one) => one.program)
  const others = list.filter((one) => !one.program)
  return (
    <>
      <Panel
        title={t('program.title')}
        help={t('program.help')}
        action={
          <Button changes onClick={() => setOpen(true)}>
            <Plus aria-hidden />
            {t('program.create')}
          </Button>
        }
      >
        {sessions.isError ? (
          <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} />
        ) : null}
        {sessions.isPending ? <SkeletonLines lines={4} /> : null}
        {sessions.isSuccess && programs.length === 0 ? (
          <Empty title={t('program.none')} help={t('program.noneHelp')} />
        ) : null}
        <ul aria-label={t('program.title')} className="flex flex-col gap-2">
          {programs.map((one) => (
            <SessionRow key={one.id} session={one} />
          ))}
        </ul>
        {open ? <SessionDialog onClose={() => setOpen(false)} /> : null}
      </Panel>
      {others.length === 0 ? null : (
        <Panel title={t('program.others')} help={t('program.othersHelp')}>
          <ul aria-label={t('program.others')} className="flex flex-col gap-2">
            {others.map((one) => (
              <SessionRow key={one.id} session={one} />
            ))}
          </ul>
        </Panel>
      )}
    </>
  )
}
