import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'

// One real browser, offline but for the host under test. What the page asks
// for anywhere else, what its policy blocks and what it throws is collected
// and fails the test.

const executable = process.env.MOECA_CHROMIUM || '/usr/bin/chromium'

export function chromiumMissing(): string | null {
  return existsSync(executable) ? null : `there is no browser at ${executable}`
}

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

export type Session = { page: Page; complaints: string[] }

export async function open(browser: Browser, url: string): Promise<Session> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: 'en-US',
    colorScheme: 'dark',
  })
  const page = await context.newPage()
  const complaints: string[] = []
  const origin = new URL(url).origin
  page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`))
  page.on('console', (message) => {
    // The machine's own network may change below a test; the page connects again.
    const expected = /status of (4\d\d|503)|ERR_NETWORK_CHANGED/.test(message.text())
    if (message.type() === 'error' && !expected) complaints.push(`console: ${message.text()}`)
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`foreign: ${request.url()}`)
  })
  await page.goto(url)
  return { page, complaints }
}

/** Writes a picture when MOECA_SCREENSHOTS names a directory. */
export async function shot(page: Page, name: string): Promise<void> {
  const dir = process.env.MOECA_SCREENSHOTS
  if (dir === undefined || dir === '') return
  mkdirSync(dir, { recursive: true })
  await page.screenshot({ path: join(dir, `${name}.png`) })
}

/** Violations of WCAG A and AA and of good practice, as one line each. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  return page.evaluate(async () => {
    const run: unknown = Reflect.get(window, 'axe')
    const { violations, passes } = await (run as typeof axe).run(document)
    // A menu or a tip floats outside of every landmark while it is open.
    const floating = /^region: div\[data-radix-popper-content-wrapper/
    if (passes.length === 0) return ['axe: nothing was checked']
    return violations
      .flatMap((found) =>
        found.nodes.map((node) => `${found.id}: ${node.target.join(' ')} ${node.failureSummary}`),
      )
      .filter((line) => !floating.test(line))
  })
}
