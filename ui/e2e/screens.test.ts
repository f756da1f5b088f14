import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { addReviewed, addTasks, longFile, manyFiles } from '../test/stub/bulk'
import { approve, type Stub, startStub } from '../test/stub/server'
import { chromiumMissing, launch, open, type Session, shot, violations } from './browser'

// What a real host cannot be brought to show quickly: thousands of tasks, a
// dead token, a lost connection, drops that are refused. Against the stub.

const missing = chromiumMissing()
const dist = fileURLToPath(new URL('../dist', import.meta.url))

describe.skipIf(missing !== null)(`screens against the stub (${missing ?? 'chromium'})`, () => {
  let browser: Browser
  let stub: Stub
  let session: Session
  let page: Page

  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())
  beforeEach(async () => {
    stub = await startStub(dist)
  })
  afterEach(async () => {
    await page.context().close()
    await stub.close()
  })

  async function start(): Promise<void> {
    session = await open(browser, stub.url)
    page = session.page
    page.setDefaultTimeout(10_000)
  }

  it('draws a small part of 5,000 tasks with long names', async () => {
    addTasks(stub.state, 5000)
    await start()
    const inbox = page.getByRole('region', { name: 'Inbox' })
    await inbox.getByRole('article').first().waitFor()
    expect(await page.getByRole('article').count()).toBeLessThan(120)
    expect(await inbox.getByRole('heading').textContent()).toContain('1,250')
    expect(await overflows(page)).toBe(false)
    expect(await violations(page)).toEqual([])
    await shot(page, 'full-board-1280')
    await page.setViewportSize({ width: 1920, height: 1080 })
    await shot(page, 'full-board-1920')
    await page.keyboard.press('/')
    await page.keyboard.type('#4321')
    await page.getByRole('article').first().waitFor()
    expect(await page.getByRole('article').count()).toBe(1)
    expect(session.complaints).toEqual([])
  })

  it('is worked with the keyboard alone', async () => {
    addTasks(stub.state, 8)
    await start()
    await page.getByRole('article').first().waitFor()
    await page.keyboard.press('j')
    await expect.poll(() => focused(page)).not.toBeNull()
    const first = await focused(page)
    await page.keyboard.press('j')
    await expect.poll(() => focused(page)).not.toBe(first)
    const second = await focused(page)
    await page.keyboard.press('l')
    await expect.poll(() => focused(page)).not.toBe(second)
    await page.keyboard.press('.')
    await page.getByRole('menu').waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, 'menu')
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('complementary', { name: 'Task' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('complementary', { name: 'Task' }).waitFor({ state: 'detached' })
    expect(session.complaints).toEqual([])
  })

  it('performs what a drop means, or says why not', async () => {
    addTasks(stub.state, 4)
    await start()
    const card = page.getByRole('region', { name: 'Inbox' }).getByRole('article').first()
    await card.waitFor()
    // The module for dragging comes after the first paint.
    await page.locator('[draggable=true]').first().waitFor()
    await card.dragTo(page.getByRole('region', { name: 'Done' }))
    await page.getByText(/^Not moved:/).waitFor()
    await shot(page, 'drop-refused')
    await card.dragTo(page.getByRole('region', { name: 'Working' }))
    await page.getByText(/^Started:/).waitFor()
    expect(session.complaints).toEqual([])
  })

  it('runs the demo from the empty board', async () => {
    await start()
    await page.getByRole('button', { name: 'Run the demo' }).click()
    await page.getByRole('log').getByText('finished').waitFor()
    await page.getByRole('region', { name: 'Needs you' }).getByText('Add a unit').waitFor()
    expect(session.complaints).toEqual([])
  })

  it('says how to get a new link when the token is dead', async () => {
    await start()
    await page.getByRole('navigation', { name: 'Main' }).waitFor()
    await page.evaluate(() => sessionStorage.setItem('moeca.bearer', 'old'))
    await page.goto(new URL('/audit?q=kind:system', stub.url).href)
    await page.getByRole('heading', { name: 'This window has no access' }).waitFor()
    expect(await page.getByText('moeca open').count()).toBe(1)
    await page.getByText('The new link brings you back to /audit?q=kind:system.').waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, 'dead-token')
    await page.goto(stub.url)
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    expect(new URL(page.url()).search).toContain('kind')
    expect(new URL(page.url()).hash).toBe('')
  })

  it('says that it is offline and comes back by itself', async () => {
    addTasks(stub.state, 4)
    await start()
    await page.getByText('live', { exact: true }).waitFor()
    await page.context().setOffline(true)
    stub.cut()
    await page.getByText('offline', { exact: true }).waitFor()
    await page.getByRole('alert').getByText('moeca does not answer.').waitFor()
    expect(await page.getByRole('contentinfo').getByText('Log head').count()).toBe(0)
    const card = page.getByRole('region', { name: 'Inbox' }).getByRole('article').first()
    await card.getByRole('button', { name: /^Actions for/ }).click()
    const run = page.getByRole('menuitem', { name: /^Run moeca does not answer/ })
    expect(await run.getAttribute('aria-disabled')).toBe('true')
    await page.keyboard.press('Escape')
    const stop = page.getByRole('button', { name: /^Stop/ }).first()
    expect(await stop.isDisabled()).toBe(true)
    expect(await violations(page)).toEqual([])
    await shot(page, 'offline')
    addTasks(stub.state, 1)
    await page.context().setOffline(false)
    await page.getByText('live', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Inbox' }).getByText('2', { exact: true }).waitFor()
  })

  it('offers approval again when the target moved after one', async () => {
    const task = addReviewed(stub.state)
    approve(stub.state, task)
    stub.state.moveTarget()
    await start()
    await page.getByRole('article').first().waitFor()
    await page.goto(new URL(`/tasks/${task.id}?tab=review`, stub.url).href)
    await page.getByText('does not count any more').waitFor()
    await page.getByText('Changed since: Target main.').waitFor()
    await page.getByRole('checkbox', { name: /No CI gate/ }).check()
    expect(await violations(page)).toEqual([])
    await shot(page, 'stale-approval')
    await page.getByRole('button', { name: 'Approve and merge' }).click()
    await page.getByText('Merged into main').first().waitFor()
    expect(session.complaints).toEqual([])
  })

  it('draws a small part of a diff of 20,000 files, with a tree for the keyboard', async () => {
    const task = addReviewed(stub.state, manyFiles(20_000))
    await start()
    await page.getByRole('article').first().waitFor()
    await page.goto(new URL(`/tasks/${task.id}?tab=diff`, stub.url).href)
    const tree = page.getByRole('tree', { name: 'Files' })
    await tree.getByRole('treeitem').first().waitFor()
    expect(await page.locator('*').count()).toBeLessThan(3000)
    expect(await violations(page)).toEqual([])
    await tree.focus()
    await page.keyboard.press('End')
    await tree.getByText('file19999.txt').waitFor()
    await page.keyboard.press('Enter')
    await page
      .getByRole('group', { name: 'Changes' })
      .getByText(/file19999/)
      .waitFor()
    const last = tree.getByRole('treeitem', { selected: true })
    expect(await last.getAttribute('aria-posinset')).toBe('100')
    expect(await last.getAttribute('aria-setsize')).toBe('100')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    await tree.getByRole('treeitem', { expanded: false }).waitFor()
    expect(await page.locator('*').count()).toBeLessThan(3000)
    await shot(page, 'diff-20000')
    expect(session.complaints).toEqual([])
  })

  it('shows the rest of a long file when asked, and says what is still cut', async () => {
    const set = longFile(250_000)
    for (const file of longFile(5).files ?? []) {
      set.files?.unshift({ ...file, path: 'short.txt', warnings: ['name-bidi', 'of-tomorrow'] })
    }
    const task = addReviewed(stub.state, set)
    await start()
    await page.getByRole('article').first().waitFor()
    await page.goto(new URL(`/tasks/${task.id}?tab=diff`, stub.url).href)
    await page.getByText('name with hidden direction marks').waitFor()
    await page.getByText('check: of-tomorrow').waitFor()
    const changes = page.getByRole('group', { name: 'Changes' })
    const toEnd = () => changes.evaluate((box) => box.scrollTo(0, box.scrollHeight))
    await changes.getByText('line 0').first().waitFor()
    await toEnd()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('button', { name: 'Show all' }).waitFor({ state: 'detached' })
    await toEnd()
    await page.getByText('line 199999').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('button', { name: 'Show all' }).waitFor({ state: 'detached' })
    await toEnd()
    await page.getByText('line 249999').waitFor()
    expect(session.complaints).toEqual([])
  })

  it('crosses thirty repositories with one stop of the Tab key', async () => {
    addTasks(stub.state, 1)
    const [first] = stub.state.repos
    if (first === undefined) throw new Error('the stub has no repository')
    for (let at = 0; at < 30; at++)
      stub.state.repos.push({ ...first, id: `r${at}`, name: `r${at}` })
    await start()
    const rail = page.getByRole('navigation', { name: 'Repositories' })
    await rail.getByRole('button', { name: 'r29', exact: true }).waitFor()
    expect(await rail.locator('button:not([tabindex="-1"])').count()).toBe(2)
    await rail.getByRole('button', { name: 'All repositories' }).focus()
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Repository settings' }).waitFor()
    expect(session.complaints).toEqual([])
  })

  it.each(['dark', 'light'] as const)(
    'gives a diff the room, readable in the %s theme',
    async (theme) => {
      const task = addReviewed(stub.state)
      await start()
      await page.emulateMedia({ colorScheme: theme })
      await page.getByRole('article').first().waitFor()
      await page.goto(new URL(`/tasks/${task.id}?tab=diff`, stub.url).href)
      const changes = page.getByRole('group', { name: 'Changes' })
      await changes.getByText('cmd/hello/main.go').waitFor()
      expect((await changes.boundingBox())?.height).toBeGreaterThan(550)
      expect(await violations(page)).toEqual([])
      await shot(page, `diff-${theme}`)
      await page.getByRole('button', { name: 'Open as page' }).click()
      await page.getByRole('button', { name: 'Open as drawer' }).waitFor()
      const box = await page.getByRole('complementary', { name: 'Task' }).boundingBox()
      expect(box?.width).toBe(1280)
      await shot(page, `diff-wide-${theme}`)
      await page.getByRole('button', { name: 'Show details' }).click()
      await page.getByRole('button', { name: 'Run again' }).waitFor()
      await page.keyboard.press('c')
      const title = page.getByRole('textbox', { name: 'Title' })
      await title.waitFor()
      expect(await title.evaluate((one) => one === document.activeElement)).toBe(true)
      expect(await violations(page)).toEqual([])
      await shot(page, `new-task-${theme}`)
      await page.keyboard.type('Half a thought')
      await page.keyboard.press('Escape')
      await title.waitFor({ state: 'detached' })
      await page.keyboard.press('c')
      expect(await title.inputValue()).toBe('Half a thought')
      await page.keyboard.press('Escape')
      await page.evaluate(() => localStorage.setItem('moeca.language', 'ja'))
      await page.reload()
      await page.getByRole('tree').waitFor()
      expect(await overflows(page)).toBe(false)
      await shot(page, `diff-ja-${theme}`)
      await page.goto(new URL(`/tasks/${task.id}?tab=review`, stub.url).href)
      await page.getByRole('checkbox').waitFor()
      await shot(page, `review-ja-${theme}`)
      expect(session.complaints).toEqual([])
    },
  )

  it('changes a policy and says first what that does', async () => {
    addTasks(stub.state, 1)
    await start()
    await page.getByRole('article').first().waitFor()
    await page.goto(new URL('/settings/providers', stub.url).href)
    await page.getByRole('link', { name: 'Policy of anthropic' }).click()
    const branch = page.getByRole('group', { name: 'create a branch' })
    await branch.getByText('Permit').waitFor()
    await branch.getByLabel('Permit').focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.getByText('You are asked before agents: create a branch.').waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, 'policy')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing is changed yet.').waitFor()
    expect(stub.state.policies.get('anthropic')?.forbidden).toEqual([
      { operation: 'github.create-branch', effect: 'ask' },
    ])
    expect(session.complaints).toEqual([])
  })

  it('shows a request that waits on the card, at the bell and in the drawer', async () => {
    addTasks(stub.state, 2)
    const [, task] = stub.state.tasks
    if (task === undefined) throw new Error('the stub has no task')
    await start()
    await page.getByRole('article').first().waitFor()
    stub.state.ask(task)
    const card = page.getByRole('region', { name: 'Needs you' }).getByRole('article').first()
    await card.getByText('the agent wants to create a branch at hub').waitFor()
    await page.getByRole('button', { name: '1 request waits for you' }).click()
    const dialog = page.getByRole('dialog', { name: 'Requests that wait for you' })
    await dialog.getByRole('button', { name: 'Allow' }).waitFor()
    expect(await violations(page)).toEqual([])
    await shot(page, 'asks')
    await dialog.getByRole('link').click()
    const drawer = page.getByRole('complementary', { name: 'Task' })
    const panel = drawer.getByRole('region', { name: /wants to create a branch at hub/ })
    await panel.getByText(/left$/).waitFor()
    expect(await panel.textContent()).not.toContain('\u202e')
    expect(await violations(page)).toEqual([])
    await shot(page, 'ask-drawer')
    await panel.getByRole('button', { name: 'Refuse' }).press('Enter')
    await panel.getByText(/^Refused. Nothing was sent/).waitFor()
    await page.getByRole('button', { name: '0 requests wait for you' }).waitFor()
    expect(await violations(page)).toEqual([])
    expect(session.complaints).toEqual([])
  })

  it('opens a task by its address, as a page', async () => {
    addTasks(stub.state, 4)
    await start()
    await page.getByRole('article').first().waitFor()
    await page.goto(new URL('/tasks/b1?wide=true&tab=log', stub.url).href)
    await page.getByText('No run yet').waitFor()
    await page.goto(new URL('/tasks/nothing', stub.url).href)
    await page.getByText('This task does not exist any more.').waitFor()
    await page.goto(new URL('/nowhere', stub.url).href)
    await page.getByText('There is nothing at this address.').waitFor()
  })
})

function focused(page: Page): Promise<string | null> {
  return page.evaluate(() => document.activeElement?.getAttribute('data-card-title') ?? null)
}

/** Whether the page itself scrolls sideways. */
function overflows(page: Page): Promise<boolean> {
  return page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)
}
