/**
 * The console in Chromium, on the machine that also runs Weir: how soon the first screen shows its figures, and how smoothly
 * the live table takes as many rows in a second as `GET /live` sends. Frames are counted by `requestAnimationFrame`, of
 * which a browser calls 60 a second at most.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { monotonicMs, sleep } from '../../../src/ground/core/clock.js'
import { noChromium, openBrowser } from '../../harness/browser.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type RunningWeir, startWeir, until } from '../../harness/weir.js'
import { token } from '../../integration/deployment.js'
import { type BenchRow, type Measure, median } from '../bench.js'
import { nodeStartMs } from '../node-start.js'
import { type Closers, withClosers } from '../systems/system.js'

/** 1 s, if `node -e 0` takes 40 ms. */
const firstScreenMax = 25
const framesMin = 50
/** All that is sent of a second; of more, the stream sends every second or third one. */
const recordsPerSecond = 200
const rowsMin = 150
const ticksPerSecond = 10

async function signedIn(browser: Browser, { url }: RunningWeir): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const data = { token }
  const answer = await context.request.post(`${url}/console/session`, {
    data,
    headers: { 'weir-console': '1' },
  })
  if (answer.status() !== 201) throw new Error(await answer.text())
  return context
}

/** From a browser that knows nothing of the page until it shows what it asked for, and can be used. */
async function firstScreenMs(browser: Browser, weir: RunningWeir): Promise<number> {
  const context = await signedIn(browser, weir)
  try {
    const page = await context.newPage()
    const begunMs = monotonicMs()
    await page.goto(weir.url, { waitUntil: 'commit' })
    await page.locator('main h1').waitFor()
    await page.locator('main canvas').first().waitFor()
    await page.locator('main .waits').first().waitFor({ state: 'detached' })
    return monotonicMs() - begunMs
  } finally {
    await context.close()
  }
}

/** Publishes at this rate until the signal. */
async function keepPublishing(weir: RunningWeir, signal: AbortSignal): Promise<void> {
  const nats = await weir.nats()
  const perTick = recordsPerSecond / ticksPerSecond
  for (let count = 0; !signal.aborted; count += perTick) {
    const lines = Array.from({ length: perTick }, (_, index) => record(count + index))
    await nats.publish('weir.records.bench.1', lines.join('\n'), { msgId: `console-${count}` })
    await sleep(1_000 / ticksPerSecond)
  }
}

const record = (n: number): string =>
  JSON.stringify({
    record_id: `console-${n}`,
    type: 'tcp_connection',
    conn: {
      client_ip: `203.0.${n % 200}.${n % 250}`,
      client_port: 1_024 + (n % 60_000),
      server_name: 'ssh.example.com',
      server_port: 22,
      bytes_in: n,
      bytes_out: 7,
    },
  })

interface Frames {
  readonly perSecond: number
  /** The 99th percentile of the time between two frames. */
  readonly slowMs: number
  /** Rows that were put in place. */
  readonly rows: number
}

const countFrames = (ms: number): string => `new Promise((resolve) => {
  const times = []
  let rows = 0
  const watched = new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) if (node.nodeName === 'TR') rows += 1
  })
  watched.observe(document.querySelector('tbody'), { childList: true })
  const look = (at) => {
    times.push(at)
    const [first] = times
    if (at - first < ${ms}) return requestAnimationFrame(look)
    watched.disconnect()
    const gaps = times.slice(1).map((each, index) => each - times[index]).sort((a, b) => a - b)
    resolve({ perSecond: (times.length - 1) * 1000 / (at - first), slowMs: gaps[Math.floor(gaps.length * 0.99)], rows })
  }
  requestAnimationFrame(look)
})`

async function framesOf(browser: Browser, weir: RunningWeir, ms: number): Promise<Frames> {
  const context = await signedIn(browser, weir)
  const stopping = new AbortController()
  const publishing = keepPublishing(weir, stopping.signal)
  try {
    const page = await context.newPage()
    await page.goto(`${weir.url}/console/live`)
    await page.locator('tbody tr').first().waitFor()
    await untilFast(page)
    return await page.evaluate(countFrames(ms))
  } finally {
    stopping.abort()
    await publishing
    await context.close()
  }
}

/** The table is full, and the rate is the wanted one. */
const untilFast = (page: Page): Promise<void> =>
  until('decisions come as fast as they are sent', async () => {
    const [, rate = '0'] =
      /([\d,.]+) decisions\/s/.exec((await page.locator('.rate').textContent()) ?? '') ?? []
    return Number(rate.replace(/\D/g, '')) >= rowsMin
  })

export const row: BenchRow = {
  name: 'console',
  mustReach: `first screen within 1 s, if \`node -e 0\` takes 40 ms; ${framesMin} frames/s at 200 rows/s`,
  run: ({ quick }) =>
    withClosers(async (closers: Closers) => {
      if (noChromium !== false) {
        console.log(`        ${noChromium}`)
        return { measures: [], nsPerOperation: {} }
      }
      const weir = await startWeir(tempDir(closers), { WEIR_BOOTSTRAP_TOKEN: token })
      closers.teardown(() => weir.stop())
      await weir.api.tcpEdge.create({ hostports: ['ssh.example.com:22'] })
      const browser = await openBrowser()
      closers.teardown(() => browser.close())
      const frames = await framesOf(browser, weir, quick ? 5_000 : 20_000)
      const screens: number[] = []
      for (let turn = 0; turn < (quick ? 3 : 9); turn += 1) screens.push(await firstScreenMs(browser, weir))
      const [screenMs, startMs] = [median(screens), nodeStartMs()]
      const measures: Measure[] = [
        { name: 'first screen / node -e 0', ratio: screenMs / startMs, bound: { atMost: firstScreenMax } },
        { name: 'frames/s of the live table', ratio: frames.perSecond, bound: { atLeast: framesMin } },
        { name: 'rows/s that it took', ratio: frames.rows / (quick ? 5 : 20), bound: { atLeast: rowsMin } },
      ]
      const toNs = 1_000_000
      return {
        measures,
        nsPerOperation: {
          'first screen': screenMs * toNs,
          'node -e 0': startMs * toNs,
          'the slowest frame of a hundred': frames.slowMs * toNs,
        },
      }
    }),
}
