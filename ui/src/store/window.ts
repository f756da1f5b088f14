import { create } from 'zustand'
import { detectLanguage, type Language } from '@/i18n'

// What only this window knows: looks, selection, what was viewed. Nothing the
// host could tell is kept here. Storage may be forbidden; then a setting lasts
// as long as the window.

export type Theme = 'system' | 'dark' | 'light'

type WindowState = {
  theme: Theme
  language: Language
  online: boolean
  setTheme(theme: Theme): void
  setLanguage(language: Language): void
  setOnline(online: boolean): void
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(`moeca.${key}`)
  } catch {
    return null
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(`moeca.${key}`, value)
  } catch {
    // A private window without storage: the choice lives until it closes.
  }
}

function savedTheme(): Theme {
  const saved = read('theme')
  return saved === 'dark' || saved === 'light' ? saved : 'system'
}

export const useWindow = create<WindowState>((set) => ({
  theme: savedTheme(),
  language: detectLanguage([read('language') ?? '', ...navigator.languages].filter(Boolean)),
  online: true,
  setTheme(theme) {
    write('theme', theme)
    set({ theme })
  },
  setLanguage(language) {
    write('language', language)
    set({ language })
  },
  setOnline(online) {
    set({ online })
  },
}))

/** Puts the theme on the document and follows the system when asked to. */
export function applyTheme(): () => void {
  const system = window.matchMedia('(prefers-color-scheme: light)')
  const apply = () => {
    const { theme } = useWindow.getState()
    const light = theme === 'system' ? system.matches : theme === 'light'
    document.documentElement.dataset.theme = light ? 'light' : 'dark'
  }
  apply()
  system.addEventListener('change', apply)
  const stop = useWindow.subscribe(apply)
  return () => {
    system.removeEventListener('change', apply)
    stop()
  }
}
