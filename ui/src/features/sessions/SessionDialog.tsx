import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useProviders } from '@/api/providers'
import { useCreateSession } from '@/api/sessions'
import { Dialog } from '@/components/Dialog'
import { SkeletonLines } from '@/components/State'
import type { MadeSession } from '@/domain/program'
import { MadeToken } from './MadeToken'
import { SessionForm } from './SessionForm'

/** Makes a session; its token is shown here, once. */
export function SessionDialog({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  const providers = useProviders().data
  const create = useCreateSession()
  const [made, setMade] = useState<MadeSession | null>(null)
  if (made !== null) {
    return (
      <Dialog key="made" title={t('program.made')} onClose={onClose} className="w-[680px]">
        <MadeToken made={made} onClose={onClose} />
      </Dialog>
    )
  }
  return (
    <Dialog key="form" title={t('program.create')} onClose={onClose} className="w-[680px]">
      {providers === undefined ? (
        <SkeletonLines lines={6} />
      ) : (
        <SessionForm
          providers={providers}
          busy={create.isPending}
          error={create.error}
          onClose={onClose}
          onCreate={(form) => create.mutate(form, { onSuccess: setMade })}
        />
      )}
    </Dialog>
  )
}
