import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { useRevokeSession } from '@/api/sessions'
import { useTasks } from '@/api/tasks'
import { Chip } from '@/components/Chip'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import { Sure } from '@/components/Sure'
import { useRemaining } from '@/components/useAge'
import type { Session } from '@/domain/program'
import { Meters } from '@/features/budgets/Meters'
import { useToasts } from '@/store/toasts'
import { GrantWords } from './GrantWords'

export function SessionRow({ session }: { session: Session }) {
  const { t } = useTranslation()
  const revoke = useRevokeSession()
  const toast = useToasts((state) => state.show)
  const left = useRemaining(session.expires)
  const name = session.name || t(session.service ? 'program.host' : 'ask.unnamed')
  return (
    <li className="flex flex-col gap-2 rounded-md border border-line bg-card p-3">
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-md font-medium break-all">
          <Safe text={name} />
        </span>
        {session.service ? <Chip>{t('program.host')}</Chip> : null}
        <TaskLink id={session.task} />
        {session.unattended ? (
          <Chip why={t('program.unattendedHelp')}>{t('program.unattended')}</Chip>
        ) : null}
        <span className="ml-auto text-sm text-t3">{t('program.endsIn', { time: left })}</span>
        {session.program ? (
          <Sure
            label={t('program.revoke', { name })}
            question={t('program.revokeAsk')}
            busy={revoke.isPending}
            onYes={() =>
              revoke.mutate(session.id, {
                onSuccess: () => toast(t('program.revoked', { name })),
              })
            }
          >
            {t('program.end')}
          </Sure>
        ) : null}
      </div>
      <p className="flex flex-wrap items-center gap-1.5 text-sm text-t3">
        {t('program.reach')}
        {session.reach.map((one) => (
          <Chip key={one}>{one}</Chip>
        ))}
        {session.repos.length === 0 ? null : t('program.repos')}
        {session.repos.map((one) => (
          <Chip key={one}>{one}</Chip>
        ))}
      </p>
      <GrantWords grants={session.grants} />
      <Meters of={name} budget={session} />
      {revoke.error === null ? null : <ErrorNote error={revoke.error} />}
    </li>
  )
}

function TaskLink({ id }: { id: string }) {
  const task = useTasks().data?.find((one) => one.id === id)
  if (task === undefined) return null
  return (
    <Link
      to="/tasks/$taskId"
      params={{ taskId: task.id }}
      className="min-w-0 truncate text-cyan hover:underline"
    >
      #{task.number} <Safe text={task.title} />
    </Link>
  )
}
