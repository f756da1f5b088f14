import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shot, violations } from './browser'

// What somebody does on the Audit screen, from a finished task that is open.

async function look(page: Page, name: string): Promise<void> {
  expect(await violations(page)).toEqual([])
  await shot(page, name)
}

/** From the task to a part of a message, with keys. */
export async function readTrace(page: Page): Promise<void> {
  const drawer = page.getByRole('complementary', { name: 'Task' })
  await drawer.getByRole('link', { name: 'Open in Audit' }).first().click()
  const tree = page.getByRole('tree', { name: 'Conversations' })
  // The only stage of a task opens with it.
  await tree.locator('[data-kind=message]').first().waitFor()
  await page
    .getByRole('listbox', { name: /^Requests of/ })
    .getByRole('option')
    .first()
    .waitFor()
  await look(page, '12-trace-task')
  await tree.focus()
  const message = tree.locator('[data-kind=message]', { hasText: /^agent/ }).first()
  for (let press = 0; press < 20 && !(await isActive(tree, message)); press++)
    await page.keyboard.press('j')
  expect(await isActive(tree, message)).toBe(true)
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  const detail = page.getByRole('complementary', { name: 'Details' })
  await detail.locator('[data-part]').first().waitFor()
  await detail.getByText('measured by moeca').first().waitFor()
  expect(new URL(page.url()).searchParams.get('part')).toBe('1')
  expect(await page.locator('main img').count()).toBe(0)
  expect(await page.getByRole('main').textContent()).not.toContain('\u202e')
  await look(page, '12-trace-part')
}

async function isActive(tree: ReturnType<Page['locator']>, row: ReturnType<Page['locator']>) {
  const active = await tree.getAttribute('aria-activedescendant')
  return active !== null && active === (await row.getAttribute('id'))
}

/** An address is all that somebody else needs to see the same. */
export async function permalink(page: Page): Promise<void> {
  const filter = page.getByRole('searchbox', { name: 'Filter records' })
  await filter.fill('agent:solo since:7d')
  await filter.press('Enter')
  const chips = page.getByRole('list', { name: 'Filters' })
  await chips.getByText('solo').waitFor()
  await look(page, '12-trace-filter')
  const seen = async () => {
    await page.getByRole('treeitem', { selected: true }).waitFor()
    const detail = page.getByRole('complementary', { name: 'Details' })
    await detail.locator('[data-part]').first().waitFor()
    return [
      await page.getByRole('treeitem', { selected: true }).textContent(),
      await detail.locator('[data-part]').first().textContent(),
      await filter.inputValue(),
    ]
  }
  const before = await seen()
  await page.reload()
  expect(await seen()).toEqual(before)
  await chips.getByRole('button', { name: 'Remove filter agent' }).click()
  await chips.getByRole('button', { name: 'Remove filter since' }).click()
  await chips.waitFor({ state: 'detached' })
}

/** The numbers on the screen are those of the host. */
export async function compareMetrics(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Metrics' }).click()
  await page.locator('[data-figure=tokens]').waitFor()
  const told = await page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${sessionStorage.getItem('moeca.bearer')}` }
    const response = await fetch('/api/audit/metrics', { headers })
    return (await response.json()).all
  })
  const shown = async (name: string) =>
    Number(await page.locator(`[data-figure=${name}]`).getAttribute('data-value'))
  expect(told.calls).toBeGreaterThan(0)
  expect(await shown('tokens')).toBe(told.tokens_in + told.tokens_out)
  expect(await shown('calls')).toBe(told.calls)
  expect(await shown('cost')).toBe(told.cost_nano)
  expect(await shown('sessions')).toBe(told.sessions)
  expect(await shown('errors')).toBe(told.failed)
  expect(await shown('refused')).toBe(told.refused)
  await page.getByRole('figure', { name: 'Tokens' }).locator('canvas').waitFor()
  await look(page, '12-metrics')
  await page.getByRole('button', { name: 'Tokens as a table' }).click()
  await page.getByRole('figure', { name: 'Tokens' }).getByRole('table').waitFor()
  await look(page, '12-metrics-table')
}

/** A run beside itself is unchanged. */
export async function compareRuns(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Compare runs' }).click()
  for (const name of ['Compare with (A)', 'This run (B)'])
    await page.getByRole('combobox', { name }).selectOption({ index: 1 })
  await page.locator('[data-verdict=unchanged]').first().waitFor()
  await look(page, '12-compare')
}
