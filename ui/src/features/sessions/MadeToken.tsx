import { Copy } from 'lucide-react'
import { useTranslation } from 'react-i18next'
import { Button } from '@/components/Button'
import { type MadeSession, recipesOf } from '@/domain/program'
import { useToasts } from '@/store/toasts'

/** The token, while this is open, and lines that are ready to be pasted. */
export function MadeToken({ made, onClose }: { made: MadeSession; onClose(): void }) {
  const { t } = useTranslation()
  return (
    <>
      <div className="flex min-h-0 flex-col gap-4 overflow-y-auto p-4">
        <p className="font-medium">{t('program.onceHelp')}</p>
        <Copyable label={t('program.token')} text={made.token} />
        <p className="text-t3">{t('program.recipesHelp', { header: made.header })}</p>
        {recipesOf(made).map(({ provider, kind, lines }) => (
          <Copyable
            key={provider}
            label={`${provider}: ${t(`program.client.${kind}`)}`}
            text={lines}
          />
        ))}
      </div>
      <div className="flex justify-end border-t border-line px-4 py-3">
        <Button look="solid" onClick={onClose}>
          {t('program.close')}
        </Button>
      </div>
    </>
  )
}

function Copyable({ label, text }: { label: string; text: string }) {
  const { t } = useTranslation()
  const toast = useToasts((state) => state.show)
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => toast(t('program.copied', { what: label })),
      () => toast(t('program.notCopied'), 'red'),
    )
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        <span className="flex-1 text-sm font-medium text-t2">{label}</span>
        <Button size="small" aria-label={t('program.copyWhat', { what: label })} onClick={copy}>
          <Copy aria-hidden />
          {t('program.copy')}
        </Button>
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keys
        tabIndex={0}
        className="max-h-40 overflow-auto rounded-md bg-inset p-2 font-mono text-sm break-all whitespace-pre-wrap select-all"
      >
        {text}
      </pre>
    </div>
  )
}
