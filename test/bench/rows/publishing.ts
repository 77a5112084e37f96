/**
 * The cost of publishing records, on local nats-servers as Weir starts them: with 10 node names and with many, and synced to
 * the disk before each acknowledgement. Without Weir's roles, which have no part in it. All servers run at the same time and
 * take turns.
 */

import { openNatsServer } from '../../../src/delivery/nats-server/nats-server.js'
import { natsAccess } from '../../../src/delivery/nats-server/nats-users.js'
import { ensureStreams } from '../../../src/delivery/wire/streams.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { type Nats, openNats } from '../../../src/ground/nats/nats.js'
import { localNatsServer, localNatsServerEnvironment } from '../../../src/management/process/settings.js'
import { tempDir } from '../../harness/temp-dir.js'
import { type BenchRow, median } from '../bench.js'
import { type Closers, withClosers } from '../systems/system.js'
import { messagesOf } from '../systems/traffic.js'

const recordsPerMessage = 10
const atOnce = 64
const gibibyte = 1024 ** 3

interface Server {
  readonly nats: Nats
  readonly names: number
}

async function openServer(closers: Closers, names: number, syncsAlways = false): Promise<Server> {
  const occurrences = createOccurrences({
    logger: createLogger('bench', 'error', process.stderr),
    registry: createRegistry(),
  })
  const server = await openNatsServer({
    executable: localNatsServer(),
    environment: localNatsServerEnvironment(),
    dataDir: tempDir(closers),
    port: 0,
    storageMaxBytes: gibibyte,
    syncsAlways,
    access: natsAccess(),
    occurrences,
  })
  closers.teardown(() => server.close())
  const nats = await openNats({ servers: [server.urlOf('admin')], name: 'bench', replicas: 1 })
  closers.teardown(() => nats.close())
  await ensureStreams(nats, { storageMaxBytes: gibibyte, retentionMs: 3_600_000 })
  return { nats, names }
}

/** Nanoseconds per message. */
async function publish({ nats, names }: Server, messages: readonly string[], publishers: number) {
  let n = 0
  const begun = process.hrtime.bigint()
  const publishing = async (): Promise<void> => {
    for (let own = n++; own < messages.length; own = n++)
      await nats.publish(`weir.records.eu.node-${own % names}`, messages[own]!)
  }
  await Promise.all(Array.from({ length: publishers }, publishing))
  return Number(process.hrtime.bigint() - begun) / messages.length
}

export const row: BenchRow = {
  name: 'publishing',
  mustReach:
    '1,000 and 10,000 node names: at least 0.7 of the rate of 10; syncing each message costs what the disk takes',
  run: ({ quick }) =>
    withClosers(async (closers) => {
      const servers = {
        '10 names': await openServer(closers, 10),
        '1,000 names': await openServer(closers, 1_000),
        '10,000 names': await openServer(closers, 10_000),
        'WEIR_NATS_SYNC=always': await openServer(closers, 10, true),
      }
      const ways = { [`${atOnce} at once`]: atOnce, 'one after the other': 1 }
      const messages = [...messagesOf(0, (quick ? 2_000 : 12_000) * recordsPerMessage, recordsPerMessage)]
      // Every name is known to its server before it counts.
      for (const server of Object.values(servers))
        await publish(server, [...messagesOf(0, 10_000, 1)], atOnce)
      const times = new Map<string, number[]>()
      for (let turn = 0; turn < (quick ? 3 : 7); turn += 1)
        for (const [way, publishers] of Object.entries(ways))
          for (const [name, server] of Object.entries(servers)) {
            const some = publishers === 1 ? messages.slice(0, messages.length / 10) : messages
            const key = `${name}, ${way}`
            times.set(key, [...(times.get(key) ?? []), await publish(server, some, publishers)])
          }
      const nsPerOperation = Object.fromEntries([...times].map(([key, each]) => [key, median(each)]))
      const rateOf = (name: string, way: string): number =>
        nsPerOperation[`10 names, ${way}`]! / nsPerOperation[`${name}, ${way}`]!
      const [many, one] = Object.keys(ways) as [string, string]
      return {
        measures: [
          {
            name: '1,000 node names, rate of 10',
            ratio: rateOf('1,000 names', many),
            bound: { atLeast: 0.7 },
          },
          {
            name: '10,000 node names, rate of 10',
            ratio: rateOf('10,000 names', many),
            bound: { atLeast: 0.7 },
          },
          ...[many, one].map((way) => ({
            name: `synced always, rate of not, ${way}`,
            ratio: rateOf('WEIR_NATS_SYNC=always', way),
            bound: { atLeast: 0.01 },
          })),
        ],
        nsPerOperation,
      }
    }),
}
