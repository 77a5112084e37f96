/** How much of the time a replay leaves to live records that wait: counted in messages, of equal size. */
import t from 'tap'
import { PackWriter } from '../../../src/delivery/wire/pack.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { processMessage } from '../../../src/judging/pipeline/process-record.js'
import { ReplayRun } from '../../../src/judging/pipeline/replay-run.js'
import { Shares } from '../../../src/judging/pipeline/shares.js'
import { buildTrafficView, type Configuration } from '../../../src/judging/produce/compiled-configuration.js'
import { trafficEvents } from '../../../src/words/event/catalog.js'
import { allBusy, recordsStream } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { noGeo, noYield, TestConfiguration } from '../evaluate/configuration.js'

const replayedMessages = 8
const recordsPerMessage = 200

t.test('while live records wait, a replay takes less than a twentieth of the time', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const lines = Array.from({ length: recordsPerMessage }, (_, n) =>
    JSON.stringify({
      record_id: `r${n}`,
      account_id: 'ac_1',
      type: 'tcp_connection',
      conn: { client_ip: '198.51.100.7' },
    }),
  )
  const bytes = Buffer.from(lines.join('\n'))
  for (let n = 0; n < replayedMessages; n += 1) await nats.publish('weir.records.eu.node-1', bytes)
  const source = { type: 'tcp_connection_closed.v0', filter: null, fields: null }
  const configured = new TestConfiguration('ac_1').subscription('es_1', { sources: [source] })
  const view = await buildTrafficView(configured, undefined, noYield)
  const shares = new Shares(nats)
  await shares.look()
  const registry = createRegistry()
  const run = new ReplayRun(
    {
      id: 'rp_1',
      partition: onePartition.all[0]!,
      accountId: 'ac_1',
      destinationId: 'ed_1',
      filter: null,
      types: null,
      first: 1,
      has: () => true,
    },
    {
      nats,
      partitions: onePartition,
      busy: allBusy,
      ledger,
      occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry }),
      configuration: { current: view } as Configuration,
      eventKinds: trafficEvents,
      geo: noGeo,
      shares,
      isBusy: () => true,
    },
  )
  t.teardown(() => run.close())

  let live = 0
  let isReplaying = true
  const waitForReplay = async (): Promise<void> => {
    for (let done = 0; done < replayedMessages; ) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      done = (await nats.consumerInfo(recordsStream, 'rp_1'))?.ackFloor ?? 0
    }
    isReplaying = false
  }
  const processLive = async (): Promise<void> => {
    while (isReplaying) {
      const buffers = { packOf: () => new PackWriter() }
      processMessage({ bytes, storedAtMs: 0 }, { view, geo: noGeo, buffers })
      live += 1
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all([waitForReplay(), processLive()])
  t.ok(live >= 19 * replayedMessages, `${live} live messages beside ${replayedMessages} replayed ones`)
})
