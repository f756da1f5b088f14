import 'i18next'
import type { en } from './en'
import type { later } from './later'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation'
    resources: { translation: typeof en & typeof later }
    returnNull: false
  }
}
