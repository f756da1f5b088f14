import { useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { type Provider, useSetSecret } from '@/api/providers'
import { Button } from '@/components/Button'
import { ErrorNote } from '@/components/State'
import { Sure } from '@/components/Sure'
import { useToasts } from '@/store/toasts'

/** How a key is written that consists of parts; the same in every language. */
const keyForms: Partial<Record<Provider['kind'], string>> = {
  jira: 'me@example.com:token',
  trello: 'key:token',
  sigv4: 'id:secret[:session-token]',
}

/**
 * Write only. The field is not controlled: the key never enters a state of the
 * application, and the field is emptied with the request that carries it.
 */
export function KeyForm({ provider }: { provider: Provider }) {
  const { t } = useTranslation()
  const id = useId()
  const ref = useRef<HTMLInputElement>(null)
  const set = useSetSecret()
  const show = useToasts((state) => state.show)
  const name = provider.name
  const send = (value: string) =>
    set.mutate(
      { name, value },
      {
        onSuccess: () =>
          show(t(value === '' ? 'settings.keyCleared' : 'settings.keySaved', { name })),
      },
    )
  return (
    <form
      className="flex flex-col gap-1"
      onSubmit={(event) => {
        event.preventDefault()
        const value = ref.current?.value.trim() ?? ''
        if (ref.current !== null) ref.current.value = ''
        if (value !== '') send(value)
      }}
    >
      <div className="flex flex-wrap items-center gap-2">
        <label htmlFor={id} className="sr-only">
          {t('settings.key', { name })}
        </label>
        <input
          ref={ref}
          id={id}
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder={keyForms[provider.kind] ?? t('settings.key', { name })}
          className="h-7 w-80 rounded-md border border-line-strong bg-inset px-2 font-mono text-base"
        />
        <Button type="submit" changes disabled={set.isPending}>
          {provider.hasSecret ? t('settings.replaceKey') : t('settings.setKey')}
        </Button>
        {provider.hasSecret ? (
          <Sure
            size="normal"
            label={t('settings.clearKey')}
            question={t('settings.clearAsk')}
            busy={set.isPending}
            onYes={() => send('')}
          />
        ) : null}
      </div>
      {set.error === null ? null : <ErrorNote error={set.error} />}
    </form>
  )
}
