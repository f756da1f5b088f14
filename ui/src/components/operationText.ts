import type { TFunction } from 'i18next'
import { operationWord } from '@/domain/operation'

/** What an operation does, in words; its name where there are none. */
export function operationText(t: TFunction, name: string): string {
  const word = operationWord(name)
  return word === null ? name : t(`operation.${word}`)
}
