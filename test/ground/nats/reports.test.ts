/** Reports of a connection to NATS: disconnects, reconnects, retries, errors, and outdated servers. */
import { connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import type { NatsAccess } from '../../../src/delivery/nats-server/nats-access.js'
import { openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { openNats } from '../../../src/ground/nats/nats.js'
import { localNatsServer } from '../../../src/management/process/settings.js'
import { OwnNats } from '../../harness/own-nats.js'
import { portOf } from '../../harness/raw-connection.js'
import { tempDir } from '../../harness/temp-dir.js'
import { until } from '../../harness/weir.js'

function setUp() {
  const lines: string[] = []
  const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(JSON.parse(line).msg) })
  const registry = createRegistry()
  const reportsOf = (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length
  return { lines, reportsOf, registry, occurrences: createOccurrences({ logger, registry }) }
}

const outdated = /nats-server is outdated/

/** A proxy of a server that announces another version. */
async function withVersion(t: Test, behind: string, version: () => string): Promise<string> {
  const { hostname, port } = new URL(behind)
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    // A current server announces itself once more after the client has.
    upstream.on('data', (chunk: Buffer) => {
      const announced = chunk.toString('latin1').replace(/"version":"[^"]*"/, `"version":"${version()}"`)
      client.write(announced, 'latin1')
    })
    client.pipe(upstream)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `nats://127.0.0.1:${portOf({ server })}`
}

t.test('a server without the fixes of known faults', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  let version = '2.9.14'
  const url = await withVersion(t, server.url, () => version)
  const { reportsOf, registry, occurrences } = setUp()
  const nats = await openNats({ servers: [url], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  t.equal(reportsOf(outdated), 1)
  t.match(await metricsText(registry), /\nweir_nats_server_outdated 1\n/)
  for (const [next, level, reports] of [
    ['2.9.14', 1, 1],
    ['2.9.15', 1, 2],
    ['2.15.0', 0, 2],
    ['2.9.15', 1, 2],
  ] as const) {
    version = next
    const before = reportsOf(/is back/)
    await server.kill()
    await server.start()
    await until('it is connected again', () => reportsOf(/is back/) > before)
    t.equal(reportsOf(outdated), reports, `${next}: each version is reported once`)
    t.match(await metricsText(registry), new RegExp(`\\nweir_nats_server_outdated ${level}\n`), next)
  }
})

t.test('a server whose version another process reports: the gauge shows it', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const url = await withVersion(t, server.url, () => '2.9.14')
  const { reportsOf, registry, occurrences } = setUp()
  const options = { servers: [url], name: 'test', replicas: 1, occurrences, isVersionReported: true }
  const nats = await openNats(options)
  t.teardown(() => nats.close())
  t.equal(reportsOf(outdated), 0)
  t.match(await metricsText(registry), /\nweir_nats_server_outdated 1\n/)
})

t.test('a missing permission is reported', async (t) => {
  const access: NatsAccess = {
    streamsOf: 'HOME',
    accounts: {
      HOME: {
        jetstream: 'enabled',
        users: [{ name: 'one', permissions: { publish: { allow: ['a'] }, subscribe: { allow: ['>'] } } }],
      },
    },
  }
  const { lines, registry, occurrences } = setUp()
  const options = { executable: localNatsServer(), dataDir: tempDir(t), port: 0, storageMaxBytes: 1024 ** 3 }
  const server = await openNatsServer({ ...options, access, occurrences })
  t.teardown(() => server.close())
  const nats = await openNats({ servers: [server.urlOf('one')], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  nats.emit('a', '')
  await nats.flush()
  t.notOk(lines.includes('NATS reported an error.'))
  nats.emit('b', '')
  await until('it is reported', () => lines.includes('NATS reported an error.'))
  t.match(await metricsText(registry), /\nweir_nats_errors_total 1\n/)
})

t.test('a server that goes away and comes back', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const { lines, registry, occurrences } = setUp()
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  const limits = { bytesMax: 1024 * 1024, ageMaxMs: 3_600_000, duplicateWindowMs: 60_000 } as const
  await nats.ensureStream({ ...limits, name: 'S', subjects: ['s.>'], retention: 'limits', discard: 'new' })
  const bucket = await nats.openBucket('b', 1024 * 1024)
  await nats.publish('s.1', 'one')
  t.strictSame(
    lines.filter((line) => !outdated.test(line)),
    [],
    'nothing to report',
  )
  const count = async (metric: string): Promise<number> =>
    Number(new RegExp(`^${metric}(?:\\{.*\\})? (\\d+)$`, 'm').exec(await metricsText(registry))?.[1] ?? 0)
  await server.kill()
  await until('the loss is reported', () => lines.some((line) => /is lost/.test(line)))
  const pending = Promise.all([nats.publish('s.2', 'two'), bucket.put('key', 'value')])
  await until('tried again', async () => (await count('weir_nats_retries_total')) > 0)
  await server.start()
  await pending
  await until('the return is reported', () => lines.some((line) => /is back/.test(line)))
  t.ok((await count('weir_nats_disconnects_total')) > 0)
  t.ok((await count('weir_nats_reconnects_total')) > 0)
  const text = await metricsText(registry)
  for (const call of ['publish', 'bucket'])
    t.match(text, new RegExp(`weir_nats_retries_total\\{call="${call}"\\} \\d`), call)
})
