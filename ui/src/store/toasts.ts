import { create } from 'zustand'

type Toast = { id: number; tone: 'plain' | 'red'; text: string; hint: string }

type ToastState = {
  toasts: Toast[]
  show(text: string, tone?: Toast['tone'], hint?: string): void
  dismiss(id: number): void
}

const lifetime = 6000
let last = 0

/** Answers to what the person just did, nothing else. */
export const useToasts = create<ToastState>((set, get) => ({
  toasts: [],
  show(text, tone = 'plain', hint = '') {
    const id = ++last
    set({ toasts: [...get().toasts.slice(-3), { id, tone, text, hint }] })
    setTimeout(() => get().dismiss(id), lifetime)
  },
  dismiss(id) {
    set({ toasts: get().toasts.filter((toast) => toast.id !== id) })
  },
}))
