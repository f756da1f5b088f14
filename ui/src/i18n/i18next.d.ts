import 'i18next'
import type { en } from './en'
import type { later } from './later'
import type { en as trace } from './trace/en'

declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'translation'
    resources: { translation: typeof en & typeof later & typeof trace }
    returnNull: false
  }
}
