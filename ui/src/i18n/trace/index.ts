import { type Language, withPart } from '..'
import type { TraceWords } from './en'

const load: Record<Language, () => Promise<TraceWords>> = {
  en: () => import('./en').then((module) => module.en),
  ja: () => import('./ja').then((module) => module.ja),
  zh: () => import('./zh').then((module) => module.zh),
}

/** A part of the Audit screen, once its words are there. */
export function withTrace<T>(part: Promise<T>): Promise<T> {
  return withPart(part, load)
}
