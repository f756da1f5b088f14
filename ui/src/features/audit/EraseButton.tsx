import { useTranslation } from 'react-i18next'
import { useErase, useRequestsOf, type Whose } from '@/api/auditErase'
import { ErrorNote } from '@/components/State'
import { Sure } from '@/components/Sure'
import { bytes, count } from '@/domain/time'
import { useToasts } from '@/store/toasts'

/** Destroys what the log captured of a task or a run; says first how much that is. */
export function EraseButton({ of }: { of: Whose }) {
  const { t, i18n } = useTranslation()
  const erase = useErase(of)
  const show = useToasts((state) => state.show)
  const done = (row: number, bodies: number, size: number) =>
    bodies === 0
      ? t('trace.eraseNone')
      : t('trace.eraseDone', { size: bytes(size, i18n.language), n: count(row, i18n.language) })
  return (
    <>
      <Sure
        label={t('trace.erase')}
        question={<Lost of={of} />}
        busy={erase.isPending}
        onYes={() =>
          erase.mutate(undefined, {
            onSuccess: (all) => show(done(all.row, all.bodies, all.bytes)),
          })
        }
      />
      {erase.error === null ? null : <ErrorNote error={erase.error} />}
    </>
  )
}

/** All of its requests, also those that a filter hides. */
function Lost({ of }: { of: Whose }) {
  const { t, i18n } = useTranslation()
  const found = useRequestsOf(of)
  if (found.isError) return <ErrorNote error={found.error} />
  if (found.data === undefined) return t('trace.eraseLoading')
  const n = { count: found.data, n: count(found.data, i18n.language) }
  return (
    <>
      {'task' in of ? t('trace.eraseTask', n) : t('trace.eraseRun', n)} {t('trace.eraseKeeps')}
    </>
  )
}
