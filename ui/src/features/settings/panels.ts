/** The panels of the settings, in order; each has an address of its own. */
export const settingsPanels = [
  'providers',
  'budgets',
  'prices',
  'sessions',
  'log',
  'appearance',
  'machine',
] as const
export type SettingsPanelName = (typeof settingsPanels)[number]
