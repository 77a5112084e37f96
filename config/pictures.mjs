/**
 * Takes the pictures of the console for the documents: runs the demo, signs in by the link that it prints, and writes
 * `docs/images/console-<page>-<theme>.webp`. Needs Chromium, or its headless shell.
 *
 *     npm run pictures
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath, stdout } from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { noChromium, openBrowser } from '../dist/test/harness/browser.js'

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
  ['challenger', 'console/challengers', ['text=nobody from high ports'], 'With the draft'],
])

/** A draft that is compared with live traffic while the other pictures are taken. */
const challenger = {
  description: 'nobody from high ports',
  edge: 'ssh.us.demo.example:22',
  added: { name: 'high ports', expressions: ['conn.client_port > 45000'], actions: [{ type: 'deny' }] },
}

if (noChromium) throw new Error(noChromium)
const demo = spawn(execPath, [join(root, 'src', 'weir.mjs'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const ended = new Promise((resolve) => demo.once('exit', resolve))
try {
  const { link, key } = await access()
  await beginChallenger(new URL('/', link), key)
  await sleep(trafficMs)
  const browser = await openBrowser()
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
        // Both begin alike: a draft would stay in the tab.
        await page.evaluate('sessionStorage.clear()')
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

/**
 * How the demo is signed in to, and the key of its account.
 * @returns {Promise<{ link: string, key: string }>}
 */
async function access() {
  let link = ''
  for await (const line of createInterface({ input: demo.stdout })) {
    link ||= /http:\S+#sign-in=\S+/.exec(line)?.[0] ?? ''
    const key = /^\s*API\s.* key (\S+)$/.exec(line)?.[1]
    if (key !== undefined) {
      demo.stdout.resume()
      return { link, key }
    }
  }
  throw new Error('The demo ended before it printed a link and a key.')
}

/**
 * @param {URL} api
 * @param {string} key
 */
async function beginChallenger(api, key) {
  const headers = {
    authorization: `Bearer ${key}`,
    'service-version': '2',
    'content-type': 'application/json',
  }
  /** @type {{ tcp_edges: { id: string, hostports: string[], policies: { inbound: object[] } | null }[] }} */
  const { tcp_edges } = await (await fetch(new URL('edges/tcp', api), { headers })).json()
  const edge = tcp_edges.find(({ hostports }) => hostports.includes(challenger.edge))
  const { description, added } = challenger
  const inbound = [...(edge?.policies?.inbound ?? []), added]
  const draft = { edges: [{ id: edge?.id, policies: { inbound } }] }
  const body = JSON.stringify({ description, draft })
  const answer = await fetch(new URL('challengers', api), { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`The challenger was not begun: ${await answer.text()}`)
}
