/** The first events of the documents, pasted command by command: of the front page, and of the page about AWS. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { noChromium, openBrowser } from '../harness/browser.js'
import { compiled, run as runProgram } from '../harness/processes.js'
import { tempDir } from '../harness/temp-dir.js'
import { type RunningWeir, startEmulator, startWeir, until } from '../harness/weir.js'
import { blocks, pageOf, prose, sectionOf } from './pages.js'

const run = promisify(execFile)

/** Runs a script of a page against this deployment, whose data is in `dir`; its standard output. */
const shellFor =
  (weir: RunningWeir, dir: string, others: readonly (readonly [string, string])[] = []) =>
  async (script: string): Promise<string> => {
    const here = [
      ['weir_…', weir.token],
      ['http://127.0.0.1:8080', weir.url],
      ['data/nats', join(dir, 'nats').replaceAll(' ', '\\ ')],
      ['node src/weir.mjs', `node ${compiled('programs/main.js').replaceAll(' ', '\\ ')}`],
      ...others,
    ] as const
    const adapted = here.reduce((text, [from, to]) => text.replaceAll(from, to), script)
    const env = { ...process.env, WEIR_DATA_DIR: dir }
    return (await run('bash', ['-e', '-o', 'pipefail', '-c', adapted], { env })).stdout
  }

const sectionBlocks = (file: string, heading: string): readonly string[] =>
  blocks(sectionOf(pageOf(file), heading), 'sh')

/** In a terminal of its own: what it prints. */
async function openListener(t: Test, weir: RunningWeir) {
  const listener = runProgram('programs/main.js', ['listen', '--create', '--port', '0'], {
    WEIR_API_KEY: weir.token,
    WEIR_API_URL: weir.url,
  })
  t.teardown(() => listener.stop())
  await listener.line(/A test event is sent first/)
  return listener
}

/** The page Live, by the link that the command of the front page prints. */
async function openLive(t: Test, shell: (script: string) => Promise<string>): Promise<Page> {
  const [, command = ''] =
    prose(sectionOf(pageOf('README.md'), 'Your first event')).match(/`(.* console)`/) ?? []
  const [link = ''] = (await shell(command)).match(/http:\S+/) ?? []
  const browser = await openBrowser()
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  await page.goto(link)
  await page.getByRole('link', { name: 'Live', exact: true }).click()
  await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
  return page
}

t.test('the front page: a log goes in, and events come out on the screen', async (t) => {
  const [start = '', listen = '', make = '', publish = '', decide = ''] = sectionBlocks(
    'README.md',
    'Your first event',
  )
  t.match(start, /^WEIR_HTTP_PRIVATE_NETWORKS=127\.0\.0\.0\/8 npm start/)
  t.match(listen, /^node src\/weir\.mjs listen --create$/m)
  const dir = tempDir(t)
  const weir = await startWeir(dir, { WEIR_HTTP_PRIVATE_NETWORKS: '127.0.0.0/8' })
  t.teardown(() => weir.stop())
  const listener = await openListener(t, weir)
  const shell = shellFor(weir, dir)
  await shell(make)
  const withApi = make.slice(0, make.indexOf('api POST'))
  await until('the policy decides', async () => JSON.parse(await shell(withApi + decide)).decision === 'deny')
  const live = noChromium === false ? await openLive(t, shell) : undefined
  await shell(publish)
  const denied = await listener.line(/http_request_complete\.v0 .* decision=deny/)
  t.match(denied[0], /decided_by\.name="no admin pages"/)
  await listener.line(/http_request_complete\.v0 .* decision=allow/)
  await t.test('and on the page Live, which says why', { skip: noChromium }, async (t) => {
    await live!.locator('tbody tr', { hasText: '203.0.113.7' }).waitFor()
    // The questions whether it may come in are there, too: they have no bytes.
    const row = live!.locator('tbody tr', { hasText: /203\.0\.113\.9.*88\.1\sKiB/ })
    t.match(await row.textContent(), /deny/)
    await row.locator('td').first().click()
    await live!.getByRole('dialog').getByText('no admin pages').first().waitFor()
  })
})

t.test('AWS: events in a stream of the emulator', async (t) => {
  const [start = '', makeThings = '', publish = '', read = ''] = sectionBlocks(
    'docs/destinations/aws.md',
    'A first event',
  )
  t.match(start, /--port 4566.*AWS_ENDPOINT_URL=http:\/\/127\.0\.0\.1:4566 npm start/s)
  const dir = tempDir(t)
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const weir = await startWeir(dir, { AWS_ENDPOINT_URL: emulator.url })
  t.teardown(() => weir.stop())
  const output = shellFor(weir, dir, [['http://127.0.0.1:4566', emulator.url]])

  await output(makeThings)
  // A publish before the edge is in effect makes no event; the same message id would be dropped after that.
  let publishes = 0
  let decision: unknown
  const received = new Set<string>()
  await until('both events', async () => {
    publishes += 1
    decision = JSON.parse(await output(publish.replace('node-1.1', `node-1.${publishes}`)))
    const { events } = JSON.parse(await output(read)) as { events: { data: string }[] }
    for (const { data } of events) received.add(JSON.parse(data).event_type)
    return received.size >= 2
  })
  t.match(decision, { decision: 'allow', ip_policy: { decision: 'allow' } })
  t.strictSame([...received].toSorted(), ['log.v0', 'tcp_connection_closed.v0'])

  const nats = await weir.nats()
  await nats.publish('weir.records.eu.node-1', 'not json')
  const streams = sectionOf(pageOf('docs/operating.md'), 'Look into the streams')
  const deadLetters = blocks(streams, 'sh').at(-1) ?? ''
  let found = ''
  await until('the dead letter', async () => {
    found = await output(deadLetters)
    return found !== ''
  })
  t.match(found, /^1 weir\.deadletter\.records: It is not JSON.*\n {2}not json\n$/)
})
