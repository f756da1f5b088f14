export const tabs = ['diff', 'log', 'ci', 'review'] as const
export type Tab = (typeof tabs)[number]
