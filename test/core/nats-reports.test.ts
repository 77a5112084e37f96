/** What a connection to NATS reports: that it is lost, that it is back, and what was tried again meanwhile. */
import t from 'tap'
import { createLogger } from '../../src/core/log.js'
import { createRegistry, metricsText } from '../../src/core/metrics.js'
import { openNats } from '../../src/core/nats.js'
import { createOccurrences } from '../../src/core/occurrences.js'
import { OwnNats } from '../harness/own-nats.js'
import { tempDir } from '../harness/temp-dir.js'
import { until } from '../harness/weir.js'

t.setTimeout(120_000)

t.test('a server that goes away and comes back', async (t) => {
  const server = new OwnNats(tempDir(t))
  await server.start()
  t.teardown(() => server.stop())
  const lines: string[] = []
  const logger = createLogger('test', 'debug', { write: (line: string) => lines.push(JSON.parse(line).msg) })
  const registry = createRegistry()
  const occurrences = createOccurrences({ logger, registry })
  const nats = await openNats({ servers: [server.url], name: 'test', replicas: 1, occurrences })
  t.teardown(() => nats.close())
  const limits = { bytesMax: 1024 * 1024, ageMaxMs: 3_600_000, duplicateWindowMs: 60_000 } as const
  await nats.ensureStream({ ...limits, name: 'S', subjects: ['s.>'], retention: 'limits', discard: 'new' })
  const bucket = await nats.openBucket('b', 1024 * 1024)
  await nats.publish('s.1', 'one')
  t.strictSame(lines, [], 'nothing to report')
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
