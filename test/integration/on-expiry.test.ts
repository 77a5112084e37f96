/** Records that wait for a destination that is behind, and leave the stream before it gets them, or must not. */
import t from 'tap'
import type { BehindDestination } from '../../src/delivery/wire/behind.js'
import { behindBucket, inputConsumer } from '../../src/delivery/wire/names.js'
import { readPack } from '../../src/delivery/wire/pack.js'
import { onePartition } from '../../src/delivery/wire/partitions.js'
import { ensureStreams } from '../../src/delivery/wire/streams.js'
import { createLogger } from '../../src/ground/core/telemetry/log.js'
import { createRegistry, metricsText } from '../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../src/ground/core/telemetry/occurrences.js'
import { waitForBucket } from '../../src/ground/nats/bucket-stream.js'
import { streamIdentity } from '../../src/ground/nats/streams.js'
import { openCatchUps } from '../../src/judging/pipeline/catch-ups.js'
import { Shares } from '../../src/judging/pipeline/shares.js'
import { buildTrafficView, type Configuration } from '../../src/judging/produce/compiled-configuration.js'
import { AgeLimits } from '../../src/management/operate/age-limits.js'
import { trafficEvents } from '../../src/words/event/catalog.js'
import type { Row } from '../../src/words/resource/kind/define.js'
import { allBusy, deliveriesStream, deliverySubject, recordsStream } from '../harness/first-partition.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'
import { noGeo, noYield, TestConfiguration } from '../judging/evaluate/configuration.js'

const reports = () => {
  const registry = createRegistry()
  return { registry, occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry }) }
}

t.test('drop: what leaves the stream is counted, and the destination gets the rest', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const { registry, occurrences } = reports()
  for (let n = 1; n <= 20; n += 1) {
    const conn = { client_ip: '198.51.100.7', bytes_in: n }
    const record = { record_id: `r${n}`, account_id: 'ac_1', type: 'tcp_connection', conn }
    await nats.publish('weir.records.eu.node-1', JSON.stringify(record))
  }
  await nats.openConsumer({ stream: recordsStream, name: inputConsumer, ackWaitMs: 5_000, ackPendingMax: 10 })
  const run = streamIdentity((await nats.streamInfo(recordsStream))!)
  const windows = [
    [5, 9],
    [12, 15],
  ] as const
  const names = { id: 'cu_1', account_id: 'ac_1', destination_id: 'ed_1' }
  const entry: BehindDestination = {
    ...names,
    since: new Date().toISOString(),
    run,
    windows,
    done: 4,
    missed: 0,
  }
  const bucket = await waitForBucket(nats, behindBucket)
  await bucket.put('ed_1', JSON.stringify(entry))
  const late = { ...entry, id: 'cu_2', destination_id: 'ed_2', windows: [[2, 4]], done: 1 }
  await bucket.put('ed_2', JSON.stringify(late))
  await nats.removeMessages(recordsStream, [1, 2, 3, 4, 5, 6])

  const source = new TestConfiguration('ac_1').subscription('es_1', {
    sources: [{ type: 'tcp_connection_closed.v0', filter: null, fields: null }],
    destination_ids: ['ed_1', 'ed_2'],
  })
  const view = await buildTrafficView(source, undefined, noYield)
  const configuration = { current: view } as Configuration
  let row = { id: 'ed_1', account_id: 'ac_1' } as Row
  const catchUps = await openCatchUps({
    partitions: onePartition,
    busy: allBusy,
    nats,
    ledger,
    occurrences,
    configuration,
    eventKinds: trafficEvents,
    geo: noGeo,
    shares: new Shares(nats),
    isBusy: () => false,
    destinationOf: () => row,
  })
  t.teardown(() => catchUps.close())
  const first = onePartition.all[0]!

  const destinationsAt = (sequence: number, since = run): readonly string[] => {
    const { byAccount } = catchUps.viewFor(first, view, { sequence, since }).subscriptions
    return byAccount.get('ac_1')?.tcp_connection.sources.flatMap(({ destinationIds }) => destinationIds) ?? []
  }
  await until('the entry is read', () => destinationsAt(7).length === 1)
  t.strictSame(destinationsAt(7), ['ed_2'], 'the live walk leaves it out of the messages of its windows')
  for (const sequence of [4, 9, 11, 15])
    t.strictSame(destinationsAt(sequence), ['ed_1', 'ed_2'], `and of no others: ${sequence}`)
  t.strictSame(destinationsAt(7, 'another run'), ['ed_1', 'ed_2'], 'nor in a stream that was recreated')
  t.equal(catchUps.keptFrom(first), Number.POSITIVE_INFINITY)
  row = { ...row, on_expiry: 'block' } as Row
  t.ok(catchUps.keptFrom(first) <= 7, 'if it may lose nothing, its records are kept')

  for (const id of ['ed_1', 'ed_2'])
    await until('it has caught up', async () => (await bucket.get(id))?.value === undefined)
  const got: number[] = []
  for (let from = 1; ; ) {
    const pack = await nats.nextMessage(deliveriesStream, deliverySubject('ed_1'), from)
    if (pack === undefined) break
    for (const { data } of readPack(pack.data).events)
      got.push(JSON.parse(data.toString()).object.conn.bytes_in)
    from = pack.sequence + 1
  }
  t.strictSame(
    got.toSorted((a, b) => a - b),
    [7, 8, 12, 13, 14],
  )
  const metrics = await metricsText(registry)
  t.match(metrics, /weir_behind_messages_missed_total 4\n/, 'two of each destination')
  t.match(metrics, /weir_destinations_caught_up_total 2\n/)
})

t.test('block: the age limit of records is lifted while the destination is behind', async (t) => {
  const { nats } = await openStreams(t)
  const { occurrences } = reports()
  const retentionMs = 60 * 60_000
  const behind = new Set<string>()
  const limits = new AgeLimits({
    partitions: onePartition,
    nats,
    entries: { isComplete: true, ofDestination: (id) => (behind.has(id) ? [{} as never] : []) },
    keeping: () => ['ed_1'],
    retentionMs,
    occurrences,
  })
  t.teardown(() => limits.close())
  const limited = async () => {
    await limits.look()
    const infos = await Promise.all([recordsStream, deliveriesStream].map((name) => nats.streamInfo(name)))
    return infos.map((info) => info!.config.max_age / 1e6)
  }
  t.strictSame(await limited(), [retentionMs, 0], 'a deliverer removes packs, and counts them')
  behind.add('ed_2')
  t.strictSame(await limited(), [retentionMs, 0], 'another one is behind, and may lose records')
  behind.add('ed_1')
  t.strictSame(await limited(), [0, 0])
  await ensureStreams(nats, { storageMaxBytes: 16 * 1024 * 1024, retentionMs })
  t.strictSame(await limited(), [0, 0], 'an API that starts does not put it back')
  behind.clear()
  t.strictSame(await limited(), [retentionMs, 0])
})
