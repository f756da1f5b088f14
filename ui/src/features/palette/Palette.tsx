import { Command } from 'cmdk'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { Dialog } from '@/components/Dialog'
import { Safe } from '@/components/Safe'
import { usePaletteItems } from './usePaletteItems'

/** Bare = go to, ">" command, "#" task, "?" help. */
export function Palette({ onClose }: { onClose(): void }) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const groups = usePaletteItems(text)
  const mark = /^[>#?]/.test(text)
  return (
    <Dialog title={t('palette.open')} onClose={onClose} bare className="mt-[12vh] w-[560px]">
      <Command
        label={t('palette.open')}
        loop
        filter={(value, search, words) => score(value, search, words)}
      >
        <Command.Input
          autoFocus
          value={text}
          onValueChange={setText}
          placeholder={t('palette.hint')}
          className="w-full border-b border-line bg-transparent px-4 py-3 text-md outline-none"
        />
        <Command.List className="max-h-[50vh] overflow-y-auto p-1">
          <Command.Empty className="p-4 text-center text-t3">{t('palette.empty')}</Command.Empty>
          {groups.map((group) => (
            <Command.Group
              key={group.title}
              heading={group.title}
              className="[&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-t3"
            >
              {group.items.map((item) => (
                <Command.Item
                  key={item.id}
                  value={item.id}
                  keywords={[item.label, mark ? text.slice(0, 1) : '']}
                  onSelect={() => {
                    onClose()
                    item.perform()
                  }}
                  className="flex items-center gap-2 rounded-sm px-2 py-1.5 data-[selected=true]:bg-hover"
                >
                  <item.icon aria-hidden className="size-4 shrink-0 text-t3" />
                  <span className="min-w-0 flex-1 truncate">
                    <Safe text={item.label} />
                  </span>
                  {item.key === '' ? null : (
                    <kbd className="rounded-sm border border-line-strong px-1 font-mono text-xs text-t3">
                      {item.key}
                    </kbd>
                  )}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
      </Command>
    </Dialog>
  )
}

/** Every word must be in the label; the mark in front is not a word. */
function score(_value: string, search: string, words: string[] = []): number {
  const label = words.join(' ').toLowerCase()
  const wanted = search
    .replace(/^[>#?]/, '')
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
  return wanted.every((word) => label.includes(word)) ? 1 : 0
}
