import { useTranslation } from 'react-i18next'
import { Dialog } from '@/components/Dialog'

export function Shortcuts({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  const rows: [string, string][] = [
    ['J / K', t('keys.move')],
    ['H / L', t('keys.sideways')],
    ['Enter', t('keys.open')],
    ['.', t('keys.actions')],
    ['C', t('keys.create')],
    ['/', t('keys.filter')],
    ['Ctrl K', t('keys.palette')],
    ['↑ ↓ →', t('keys.rail')],
    ['n / p', t('keys.hunk')],
    ['j / k', t('keys.file')],
    ['v', t('keys.viewed')],
    ['Esc', t('keys.close')],
    ['?', t('keys.help')],
  ]
  return (
    <Dialog title={t('keys.title')} onClose={onClose} className="w-[420px]">
      <dl className="grid grid-cols-[90px_1fr] gap-x-3 gap-y-1 p-4">
        {rows.map(([key, words]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded-sm border border-line-strong px-1 font-mono text-sm">
                {key}
              </kbd>
            </dt>
            <dd className="text-t2">{words}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
