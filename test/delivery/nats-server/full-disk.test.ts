/**
 * The disk of the local nats-server is full, and has room again, or is away, and there again: what could not be stored
 * before is stored without anyone's help.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { total } from '../../harness/metrics.js'
import { mountSmallDisk } from '../../harness/small-disk.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

const mebibyte = 1024 * 1024
const message = Buffer.alloc(mebibyte / 2, 'x')

async function open(t: Test, dataDir: string) {
  const registry = createRegistry()
  const logged: { readonly msg: string; readonly reason?: string }[] = []
  const logger = createLogger('test', 'warn', { write: (line: string) => logged.push(JSON.parse(line)) })
  const server = await openNatsServer({
    executable: localNatsServer(),
    dataDir,
    port: 0,
    storageMaxBytes: 1024 * mebibyte,
    access: { streamsOf: 'HOME', accounts: { HOME: { jetstream: 'enabled', users: [{ name: 'one' }] } } },
    occurrences: createOccurrences({ logger, registry }),
  })
  t.teardown(() => server.close())
  const nats = await openNats({ servers: [server.urlOf('one')], name: 'test', replicas: 1 })
  t.teardown(() => nats.close())
  const limits = { retention: 'limits', bytesMax: 512 * mebibyte, ageMaxMs: 0, discard: 'new' } as const
  await nats.ensureStream({ name: 'A', subjects: ['a'], ...limits, duplicateWindowMs: 60_000 })
  t.equal(server.problem, undefined)
  const metric = async (name: string) => total(await metricsText(registry), name)
  const untilStored = () =>
    until('a message is stored', () =>
      nats.publish('a', message, { triesMax: 1 }).then(
        () => true,
        () => false,
      ),
    )
  return { server, nats, logged, metric, untilStored }
}

t.test('full while messages come, then with room again', async (t) => {
  const disk = mountSmallDisk(t, '24m')
  if (typeof disk === 'string') return void t.pass(disk, { skip: disk })
  const { server, nats, logged, metric, untilStored } = await open(t, disk.dir)
  let stored = 0
  const fill = async (): Promise<void> => {
    for (;;) {
      await nats.publish('a', message, { triesMax: 1 })
      stored += 1
    }
  }
  await t.rejects(fill(), 'nothing more is acknowledged')
  await until('the problem is known', () => /service|full/.test(server.problem ?? ''))
  await until('the stream is named', () => server.problem?.includes('A') === true)
  t.match(server.problem, /taken a stream out of service .*HOME > A/)
  t.match(server.problem, /Make room: it is restarted then/)
  t.equal(await metric('weir_nats_store_failing'), 1)

  disk.resize('128m')
  await untilStored()
  await until('all is well', () => server.problem === undefined)
  t.equal(await metric('weir_nats_store_failing'), 0)
  t.equal(await metric('weir_nats_store_restarts_total'), 1)
  const { messages } = (await nats.streamInfo('A'))!.state
  t.ok(messages > stored, `nothing acknowledged is lost: ${messages} of ${stored}`)
  const said = logged.map(({ msg }) => msg)
  t.match(said, [/cannot store/, /is restarted/], said.join(' '))
  t.match(logged[0]?.reason, /A|full/)
})

t.test('away, and there again', async (t) => {
  const dataDir = tempDir(t)
  const { server, nats, metric, untilStored } = await open(t, dataDir)
  await untilStored()
  const store = join(dataDir, 'nats', 'store')
  renameSync(store, `${store}-away`)
  await until('the problem is known', () => server.problem !== undefined)
  t.match(server.problem, /Nothing can be written in .*store \(ENOENT/)
  renameSync(`${store}-away`, store)
  await until('the server is restarted', async () => (await metric('weir_nats_store_restarts_total')) === 1)
  await untilStored()
  await until('all is well', () => server.problem === undefined)
  t.ok((await nats.streamInfo('A'))!.state.messages >= 2, 'what was stored before is there')
})
