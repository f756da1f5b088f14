import i18next, { type i18n } from 'i18next'
import { initReactI18next } from 'react-i18next'
import { safeLanguage } from '@/domain/time'
import { en } from './en'
import type { Messages } from './later'

export const languages = { en: 'English', ja: '日本語', zh: '中文' } as const
export type Language = keyof typeof languages

const load: Record<Exclude<Language, 'en'>, () => Promise<Messages>> = {
  ja: () => import('./ja').then((module) => module.ja),
  zh: () => import('./zh').then((module) => module.zh),
}

/** The best of our languages for what the browser asks for. */
export function detectLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const base = safeLanguage(tag).split('-')[0] ?? ''
    if (base in languages) return base as Language
  }
  return 'en'
}

export async function startI18n(language: Language): Promise<i18n> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false },
    returnNull: false,
  })
  await changeLanguage(language)
  return i18next
}

let rest: Promise<void> | undefined

/** A part of the window beyond the first screen, once the words it uses are there. */
export async function withWords<T>(part: Promise<T>): Promise<T> {
  // The other languages come whole; English does as soon as somebody needs it.
  rest ??= import('./later').then(({ later }) => {
    i18next.addResourceBundle('en', 'translation', later, true)
  })
  const [loaded] = await Promise.all([part, rest])
  return loaded
}

type Words = Record<Language, () => Promise<object>>

// Screens whose words were asked for: another language needs them as well.
const parts = new Set<Words>()

async function addPart(language: Language, words: Words): Promise<void> {
  i18next.addResourceBundle(language, 'translation', await words[language](), true)
}

/** A part of the window that brings words of its own, once they are there. */
export async function withPart<T>(part: Promise<T>, words: Words): Promise<T> {
  if (!parts.has(words)) {
    const language = i18next.language as Language
    await Promise.all([addPart('en', words), language === 'en' ? null : addPart(language, words)])
    parts.add(words)
  }
  return part
}

export async function changeLanguage(language: Language): Promise<void> {
  if (language !== 'en' && !i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', await load[language]())
  }
  await Promise.all([...parts].map((words) => addPart(language, words)))
  await i18next.changeLanguage(language)
  document.documentElement.lang = language
}
