/**
 * Takes the pictures of the console for the documents: runs the demo, signs in by the link that it prints, and writes
 * `docs/images/console-<page>-<theme>.webp`. Needs Debian's Chromium.
 *
 *     npm run screenshots
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath, stdout } from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const size = { width: 1280, height: 800 }
/** Traffic for the charts. */
const trafficMs = 90_000

/** The page's name, its path, what is pressed there in turn, and what must be seen before the picture is taken. */
const pages = /** @type {const} */ ([
  ['overview', '', [], 'Stopped last'],
  ['live', 'console/live', [], 'decisions/s'],
  ['explain', 'console/explain', ['tbody tr'], 'Its events'],
  [
    'edges',
    'console/edges',
    ['text=ssh.us.demo.example:22', 'text=Draft and try', 'text=Remove', 'text=Try on recorded traffic'],
    'would be decided',
  ],
  ['destinations', 'console/destinations', ["text=the demo's kinesis"], 'How long requests took'],
])

const demo = spawn(execPath, [join(root, 'src', 'weir.mjs'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = new Promise((resolve) => demo.once('exit', resolve))
try {
  const link = await signInLink()
  await sleep(trafficMs)
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    const context = await browser.newContext({ viewport: size })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const devtools = await context.newCDPSession(page)
    await page.goto(link)
    await page.getByText('Sign out').waitFor()
    for (const [name, path, pressed, text] of pages) {
      for (const theme of /** @type {const} */ (['light', 'dark'])) {
        await page.emulateMedia({ colorScheme: theme })
        await page.goto(new URL(path, link).href)
        for (const each of pressed) await page.locator(`main >> ${each}`).first().click()
        await page.getByText(text).first().waitFor()
        // Lists and charts below the first text.
        await sleep(4_000)
        const file = join('docs', 'images', `console-${name}-${theme}.webp`)
        const picture = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 50 })
        writeFileSync(join(root, file), picture.data, 'base64')
        stdout.write(`${file}\n`)
      }
    }
  } finally {
    await browser.close()
  }
} finally {
  demo.kill('SIGINT')
  await ended
}

/** @returns {Promise<string>} */
async function signInLink() {
  for await (const line of createInterface({ input: demo.stdout })) {
    const link = /http:\S+#sign-in=\S+/.exec(line)?.[0]
    if (link !== undefined) {
      demo.stdout.resume()
      return link
    }
  }
  throw new Error('The demo ended before it printed a link.')
}
