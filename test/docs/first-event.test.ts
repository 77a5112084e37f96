/** The first event of the front page, pasted command by command. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { tempDir } from '../harness/temp-dir.js'
import { startEmulator, startWeir, until } from '../harness/weir.js'
import { blocks, pageOf, sectionOf } from './pages.js'

t.setTimeout(300_000)

const run = promisify(execFile)

t.test('the first event', async (t) => {
  const [start = '', makeThings = '', publish = '', read = ''] = blocks(
    sectionOf(pageOf('README.md'), 'Your first event'),
    'sh',
  )
  t.match(start, /--port 4566.*AWS_ENDPOINT_URL=http:\/\/127\.0\.0\.1:4566 npm start/s)
  const dir = tempDir(t)
  const emulator = await startEmulator()
  t.teardown(() => emulator.stop())
  const weir = await startWeir(dir, { AWS_ENDPOINT_URL: emulator.url })
  t.teardown(() => weir.stop())
  const adapted = (script: string): string =>
    script
      .replaceAll('weir_…', weir.token)
      .replaceAll('http://127.0.0.1:8080', weir.url)
      .replaceAll('http://127.0.0.1:4566', emulator.url)
      .replaceAll(/\bdata\/nats/g, join(dir, 'nats').replaceAll(' ', '\\ '))
  const output = async (script: string): Promise<string> =>
    (await run('bash', ['-e', '-o', 'pipefail', '-c', adapted(script)])).stdout

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
