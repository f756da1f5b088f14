import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useRetention, useSetRetention } from '@/api/auditRetention'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { ErrorNote, SkeletonLines } from '@/components/State'
import { Sure } from '@/components/Sure'
import { count } from '@/domain/time'
import { Panel } from '@/features/settings/Panel'
import { useToasts } from '@/store/toasts'

const most = 3650

export function Retention() {
  const { t } = useTranslation()
  const kept = useRetention()
  return (
    <Panel title={t('kept.title')} help={t('kept.help')}>
      {kept.isError ? <ErrorNote error={kept.error} onRetry={() => void kept.refetch()} /> : null}
      {kept.isPending ? <SkeletonLines lines={3} /> : null}
      {kept.data === undefined ? null : <Days now={kept.data} />}
      <p className="text-t3">{t('kept.elsewhere')}</p>
    </Panel>
  )
}

function Days({ now }: { now: number }) {
  const { t, i18n } = useTranslation()
  const [text, setText] = useState(now === 0 ? '' : String(now))
  const set = useSetRetention()
  const show = useToasts((state) => state.show)
  const days = /^\d{1,4}$/.test(text.trim()) ? Number(text) : 0
  const valid = days >= 1 && days <= most
  const save = (value: number) => set.mutate(value, { onSuccess: () => show(t('kept.saved')) })
  const n = (value: number) => ({ count: value, n: count(value, i18n.language) })
  return (
    <>
      <p className="font-medium">{now === 0 ? t('kept.forEver') : t('kept.days', n(now))}</p>
      <div className="flex max-w-xs flex-col">
        <Field
          label={t('kept.field')}
          {...(text === '' || valid
            ? { help: t('kept.fieldHelp') }
            : { error: t('kept.fieldHelp') })}
        >
          {(wire) => (
            <input
              {...wire}
              inputMode="numeric"
              autoComplete="off"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Sure
          key={days}
          size="normal"
          label={t('kept.erase')}
          question={t('kept.ask', n(days))}
          busy={set.isPending || !valid || days === now}
          onYes={() => save(days)}
        >
          {t('kept.set')}
        </Sure>
        {now === 0 ? null : (
          <Button
            changes
            disabled={set.isPending}
            onClick={() => {
              setText('')
              save(0)
            }}
          >
            {t('kept.off')}
          </Button>
        )}
      </div>
      {set.error === null ? null : <ErrorNote error={set.error} />}
    </>
  )
}
