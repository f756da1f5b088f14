import { Link } from '@tanstack/react-router'
import { Scale } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import {
  isModel,
  type Provider,
  useDeleteProvider,
  useModels,
  usePutProvider,
  useTestProvider,
} from '@/api/providers'
import { Button } from '@/components/Button'
import { Chip } from '@/components/Chip'
import { Safe } from '@/components/Safe'
import { ErrorNote } from '@/components/State'
import { Sure } from '@/components/Sure'
import { useDialogs } from '@/store/dialogs'
import { useToasts } from '@/store/toasts'

/** Test, models, edit, remove; and what the last of them said. */
export function ProviderActions({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const test = useTestProvider()
  const models = useModels()
  const put = usePutProvider()
  const remove = useDeleteProvider()
  const open = useDialogs((state) => state.show)
  const toast = useToasts((state) => state.show)
  const { name } = provider
  const model = isModel(provider.kind)
  const error = test.error ?? models.error ?? put.error ?? remove.error
  const fetchModels = () =>
    models.mutate(name, {
      onSuccess: (list) => {
        if (!provider.scripted) put.mutate({ name, change: { models: list.slice(0, 200) } })
        toast(t('settings.modelsFound', { count: list.length, n: list.length, name }))
      },
    })
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Button size="small" changes disabled={test.isPending} onClick={() => test.mutate(name)}>
          {t(test.isPending ? 'settings.testing' : 'settings.test')}
        </Button>
        {model && !provider.scripted ? (
          <Button size="small" changes disabled={models.isPending} onClick={fetchModels}>
            {t('settings.askModels')}
          </Button>
        ) : null}
        {provider.scripted ? null : (
          <Button size="small" changes onClick={() => open({ kind: 'provider', name })}>
            {t('settings.edit')}
          </Button>
        )}
        <Link
          to="/settings/providers/$name"
          params={{ name }}
          aria-label={t('settings.policyOf', { name })}
          className="inline-flex h-6 items-center gap-1.5 rounded-md border border-line-strong bg-card px-2 text-sm font-medium hover:bg-hover"
        >
          <Scale aria-hidden className="size-3.5" />
          {t('settings.policy')}
        </Link>
        {provider.builtIn ? null : (
          <Sure
            label={t('settings.remove', { name })}
            question={t('settings.removeAsk')}
            busy={remove.isPending}
            onYes={() =>
              remove.mutate(name, { onSuccess: () => toast(t('settings.removed', { name })) })
            }
          />
        )}
      </div>
      {test.data === undefined ? null : (
        <p role="status" className="flex flex-wrap items-center gap-2 text-sm text-t2">
          <Chip tone={test.data.ok ? 'green' : 'amber'}>
            {t(`settings.class.${test.data.class}`)}
          </Chip>
          <Safe text={test.data.message} />
          <span className="text-t3">{t('settings.latency', { n: test.data.latency_ms })}</span>
        </p>
      )}
      {error === null ? null : <ErrorNote error={error} />}
    </div>
  )
}
