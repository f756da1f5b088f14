import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Stub, startStub } from '../test/stub/server'
import { compareMetrics, compareRuns, permalink, readTrace } from './audit'
import { chromiumMissing, launch, open, type Session, shot, violations } from './browser'

// The whole job by clicking. With MOECA_URL (a launch URL) and MOECA_REPO (the
// path of a repository) it drives a real host; without them the stub.
//
// MOECA_CI        CI command as typed; "-", the default with a real host, is no gate:
//                 the approval then acknowledges that there is none
// MOECA_CI_POLICY image of the gate, base or poly (poly by default)
// MOECA_DETAIL    detail of the task
// MOECA_SCREENSHOTS     directory for pictures of every screen

const url = process.env.MOECA_URL ?? ''
const repo = process.env.MOECA_REPO || '/srv/repositories/hello'
const command = process.env.MOECA_CI || (url === '' ? 'go version' : '-')
const minutes = 60_000

const missing = chromiumMissing()
const required = (process.env.MOECA_REQUIRE ?? '').split(',').includes('chromium')

it.runIf(missing !== null && required)('needs a browser', () => expect(missing).toBeNull())

describe.skipIf(missing !== null)(`the job by clicking (${missing ?? 'chromium'})`, () => {
  let stub: Stub | undefined
  let browser: Browser
  let session: Session
  let page: Page
  const title = 'Greet the reader in the README'
  // The stub asks about a branch; a real host about its scripted model.
  const asked = url === '' ? 'create a branch' : 'call a model'

  beforeAll(async () => {
    if (url === '') stub = await startStub(fileURLToPath(new URL('../dist', import.meta.url)))
    browser = await launch()
    session = await open(browser, url || (stub?.url ?? ''))
    page = session.page
    page.setDefaultTimeout(15_000)
  })

  afterAll(async () => {
    await browser?.close()
    await stub?.close()
  })

  it('takes the launch token out of the address', async () => {
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    expect(new URL(page.url()).hash).toBe('')
  })

  it('shows what to do on an empty board', async () => {
    await page.getByRole('heading', { name: 'Add a repository to begin' }).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '01-first-run')
  })

  it('puts a wrong path on its field', async () => {
    await page.getByRole('main').getByRole('button', { name: 'Add repository' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Path').fill('not/absolute')
    await dialog.getByRole('button', { name: 'Add repository' }).click()
    await dialog.getByRole('alert').first().waitFor()
    expect(await dialog.getByLabel('Path').getAttribute('aria-invalid')).toBe('true')
    await shot(page, '02-add-repository')
  })

  it('adds the repository with a gate', async () => {
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Path').fill(repo)
    if (command !== '-') await dialog.getByLabel('CI command').fill(command)
    await dialog.getByLabel('Image').selectOption(process.env.MOECA_CI_POLICY || 'poly')
    expect(await violations(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Add repository' }).click()
    await page.getByText('No tasks yet').waitFor()
  })

  it('creates a task with the keyboard and runs it', async () => {
    await page.keyboard.press('c')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Title').fill(title)
    await dialog.getByLabel('Detail').fill(process.env.MOECA_DETAIL || 'Add a friendly greeting.')
    expect(await violations(page)).toEqual([])
    await shot(page, '03-create-task')
    await dialog.getByRole('button', { name: 'Create and run' }).click()
    // The scripted model may be through before anybody can look.
    await column(page, 'Working').or(column(page, 'Needs you')).getByText(title).waitFor()
    await shot(page, '04-working')
  })

  it('sees it finish without a reload', async () => {
    await column(page, 'Needs you')
      .getByText(title)
      .waitFor({ timeout: 10 * minutes })
    await page.getByText('Nothing is running.').waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '05-board')
  })

  it('reads the log as text', async () => {
    await column(page, 'Needs you').getByRole('button', { name: title }).first().click()
    await page.getByRole('tab', { name: 'Log' }).click()
    const log = page.getByRole('log')
    await log.waitFor()
    expect(await log.locator('img, script, iframe').count()).toBe(0)
    expect(await log.textContent()).not.toContain('\u202e')
    expect(await violations(page)).toEqual([])
    await shot(page, '06-log')
  })

  it('looks at the diff and ticks a file with a key', async () => {
    await page.getByRole('tab', { name: 'Diff' }).click()
    const changes = page.getByRole('group', { name: 'Changes' })
    await changes.waitFor()
    await page.getByText(/0 of \d+ viewed/).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '07-diff')
    await page.keyboard.press('v')
    await page.getByText(/1 of \d+ viewed/).waitFor()
  })

  it('spells out why approval is locked, then runs the gate', async () => {
    if (command === '-') return
    await page.getByRole('tab', { name: 'Review' }).click()
    await page.getByRole('heading', { name: 'Your approval binds exactly this' }).waitFor()
    await shot(page, '08-review-locked')
    await page.getByRole('tab', { name: 'CI' }).click()
    await page.getByRole('heading', { name: 'CI gate' }).waitFor()
    const run = page.getByRole('tabpanel').getByRole('button', { name: /Run CI/ })
    if ((await page.getByText('CI not run').count()) > 0) await run.click()
    await page
      .getByRole('tabpanel')
      .getByText(/^CI passed/)
      .waitFor({ timeout: 10 * minutes })
    expect(await violations(page)).toEqual([])
    await shot(page, '09-ci')
  })

  it('approves and merges with one button', async () => {
    await page.getByRole('tab', { name: 'Review' }).click()
    const acks = page.getByRole('group', { name: 'Acknowledge' }).getByRole('checkbox')
    await page.getByRole('heading', { name: 'Your approval binds exactly this' }).waitFor()
    for (const ack of await acks.all()) await ack.check()
    expect(await violations(page)).toEqual([])
    await shot(page, '10-review')
    await page.getByRole('button', { name: 'Approve and merge' }).click()
    await page
      .getByRole('tabpanel')
      .getByText(/^Merged into/)
      .waitFor({ timeout: minutes })
    await page.getByText(/^Merged into \S+ as /).waitFor()
    await column(page, 'Done').getByText(title).waitFor()
    await shot(page, '11-merged')
  })

  it('reads what was said, from the task down to a part', () => readTrace(page))
  it('shows the same to whom its address is given', () => permalink(page))
  it('sums what the host sums', () => compareMetrics(page))
  it('compares runs', () => compareRuns(page))

  it('finds it all in the audit and verifies the log', async () => {
    await page.getByRole('link', { name: 'Audit', exact: true }).click()
    await page.getByRole('tab', { name: 'Records' }).click()
    const rows = page.getByRole('listbox', { name: 'Audit' })
    await rows.getByText('merge', { exact: true }).first().waitFor()
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('intent')
    await rows.getByRole('option').first().click()
    await page.getByRole('complementary').getByText('Written by', { exact: true }).waitFor()
    await page.getByRole('heading', { name: /^Request/ }).waitFor()
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('')
    await page.getByRole('button', { name: 'Verify the log' }).click()
    await page.locator('[data-verify=ok]').waitFor({ timeout: minutes })
    expect(await violations(page)).toEqual([])
    await shot(page, '12-audit')
  })

  it('keeps a key write-only', async () => {
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Providers' }).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '13-settings')
  })

  it('has the model asked about from now on', async () => {
    await page.getByRole('link', { name: 'Policy of demo' }).click()
    await page.getByRole('heading', { name: 'What agents may do at demo' }).waitFor()
    const rule = page.getByRole('group', { name: asked })
    await rule.getByText('Ask me').click()
    await page.getByText(`You are asked before agents: ${asked}.`).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '14-policy')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
  })

  it('refuses what the agent asks for, in the drawer', async () => {
    await page.getByRole('link', { name: /^Delivery/ }).click()
    await page.keyboard.press('c')
    await page.getByRole('dialog').getByLabel('Title').fill('Ask before you call')
    await page.getByRole('dialog').getByRole('button', { name: 'Create and run' }).click()
    await page
      .getByRole('button', { name: '1 request waits for you' })
      .waitFor({ timeout: minutes })
    await column(page, 'Needs you').getByText('Ask before you call').click()
    const drawer = page.getByRole('complementary', { name: 'Task' })
    const panel = drawer.getByRole('region', { name: `The agent wants to ${asked}` })
    await panel.getByText(/left$/).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, '15-ask')
    await panel.getByRole('button', { name: 'Refuse' }).click()
    await panel.getByText(/^Refused. Nothing was sent/).waitFor()
    await page.getByRole('button', { name: '0 requests wait for you' }).waitFor()
    await shot(page, '16-refused')
    // The audit says who refused.
    await panel.getByRole('link', { name: /^audit row/ }).click()
    await page.getByRole('complementary').getByText('person').first().waitFor()
    await page.getByRole('link', { name: /^Delivery/ }).click()
  })

  it('goes by the palette', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('deliv')
    expect(await violations(page)).toEqual([])
    await shot(page, '17-palette')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Delivery' }).waitFor()
  })

  for (const [theme, language] of [
    ['light', 'English'],
    ['light', '日本語'],
    ['dark', '日本語'],
    ['dark', '中文'],
  ] as const) {
    it(`is readable in ${theme} and ${language}`, () => tour(page, theme, language), 2 * minutes)
  }

  it('asked nobody else and broke no rule of its page', () => {
    expect(session.complaints).toEqual([])
  })
})

function column(page: Page, name: string) {
  return page.getByRole('region', { name, exact: true })
}

/** Every screen in one look: chosen by the switch, checked, photographed. */
async function tour(page: Page, theme: 'light' | 'dark', language: string): Promise<void> {
  await page.evaluate((name) => {
    localStorage.setItem('moeca.theme', name)
  }, theme)
  const codes: Record<string, string> = { English: 'en', 日本語: 'ja', 中文: 'zh' }
  const code = codes[language] ?? 'en'
  await page.evaluate((value) => localStorage.setItem('moeca.language', value), code)
  await page.goto(new URL('/', page.url()).href)
  await page.locator(`html[data-theme=${theme}][lang=${code}]`).waitFor()
  const card = page.locator('[data-card-title]').first()
  await card.waitFor()
  const look = async (name: string) => {
    expect(await violations(page)).toEqual([])
    await shot(page, `${theme}-${code}-${name}`)
  }
  await look('board')
  await card.click()
  for (const [at, name] of ['diff', 'log', 'ci', 'review'].entries()) {
    await page.getByRole('tab').nth(at).click()
    await page.locator('[role=tabpanel][data-state=active] > *').first().waitFor()
    await page.locator('[data-loading]').first().waitFor({ state: 'detached' })
    await look(name)
  }
  const links = page.getByRole('banner').getByRole('link')
  await links.nth(1).click()
  await page.getByRole('treeitem').first().click()
  await page.locator('[data-kind=message]').nth(1).click()
  await page.locator('[data-part]').first().waitFor()
  await look('trace')
  for (const [at, name] of ['rows', 'metrics', 'compare'].entries()) {
    await page
      .getByRole('tab')
      .nth(at + 1)
      .click()
    await page.locator('[role=tabpanel][data-state=active] > *').first().waitFor()
    await page.locator('[data-loading]').first().waitFor({ state: 'detached' })
    await look(name)
  }
  await page.getByRole('tab').nth(1).click()
  await page.getByRole('listbox').getByRole('option').first().click()
  await page.getByRole('complementary').locator('dd').first().waitFor()
  await look('audit')
  await links.nth(2).click()
  const panels = page.getByRole('main').getByRole('navigation').getByRole('link')
  await panels.first().waitFor()
  for (const [at, panel] of (await panels.all()).entries()) {
    await panel.click()
    await page.getByRole('main').getByRole('heading', { level: 2 }).first().waitFor()
    await page.locator('[data-loading]').first().waitFor({ state: 'detached' })
    await look(`settings-${at}`)
  }
}
