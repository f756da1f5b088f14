import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { isModel, useProviders } from '@/api/providers'
import { useSetMeans } from '@/api/tasks'
import { Button } from '@/components/Button'
import { ErrorNote } from '@/components/State'
import { readLimit, textOf } from '@/domain/budget'
import type { Task } from '@/domain/model'
import { LimitFields } from '@/features/budgets/LimitFields'
import { useToasts } from '@/store/toasts'
import { ReachFields } from './ReachFields'

/** Edits budgets and reach on the spot. */
export function MeansForm({ task, onClose }: { task: Task; onClose(): void }) {
  const { t } = useTranslation()
  const [whole, setWhole] = useState(textOf(task.budget))
  const [run, setRun] = useState(textOf(task.runBudget))
  const [reach, setReach] = useState(task.reach)
  const [tried, setTried] = useState(false)
  const tools = (useProviders().data ?? []).filter((one) => !one.scripted && !isModel(one.kind))
  const set = useSetMeans(task)
  const toast = useToasts((state) => state.show)
  const read = { whole: readLimit(whole, 'wrong'), run: readLimit(run, 'wrong') }
  const wrong = [read.whole, read.run].some((one) => one.wrong.tokens || one.wrong.usd)
  const save = () => {
    setTried(true)
    if (wrong) return
    set.mutate(
      { budget: read.whole.limit, runBudget: read.run.limit, reach },
      {
        onSuccess: () => {
          toast(t('means.saved', { title: task.title }))
          onClose()
        },
      },
    )
  }
  return (
    <form
      noValidate
      aria-label={t('means.edit')}
      className="flex flex-col gap-3 py-2"
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{t('means.task')}</legend>
        <LimitFields
          text={whole}
          onChange={setWhole}
          wrong={tried ? read.whole.wrong : null}
          help={t('means.empty')}
          first
        />
      </fieldset>
      <fieldset className="flex flex-col gap-1">
        <legend className="mb-1 font-medium">{t('means.run')}</legend>
        <LimitFields
          text={run}
          onChange={setRun}
          wrong={tried ? read.run.wrong : null}
          help={t('means.empty')}
        />
      </fieldset>
      <ReachFields tools={tools} chosen={reach} onChange={setReach} />
      {set.error === null ? null : <ErrorNote error={set.error} />}
      <div className="flex items-center justify-end gap-2">
        <p className="flex-1 text-sm text-t3">{t('means.when')}</p>
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button type="submit" look="solid" changes disabled={set.isPending}>
          {t('common.save')}
        </Button>
      </div>
    </form>
  )
}
