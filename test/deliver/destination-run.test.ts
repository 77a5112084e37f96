/** What a run does with packs of its own consumer. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readEntries } from '../../src/books/ledger.js'
import { ByteBudget } from '../../src/deliver/byte-budget.js'
import { DestinationRun } from '../../src/deliver/destination-run.js'
import { SharedPacks } from '../../src/deliver/shared-packs.js'
import { ledgerStream, ledgerSubject, packHeaders } from '../../src/wire/names.js'
import { PackWriter } from '../../src/wire/pack.js'
import { onePartition } from '../../src/wire/partitions.js'
import { deliveriesStream, deliverySubject } from '../harness/first-partition.js'
import { openStreams } from '../harness/own-streams.js'
import { until } from '../harness/weir.js'
import { config } from './fake-lane.js'

/** Nothing is dropped within the first half of it. */
const retentionMs = 6_000

t.test('the age of a pack that was moved counts from when it was stored first', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const quiet = new Proxy({}, { get: () => () => {} })
  const pausedAt = new Date().toISOString()
  const run = new DestinationRun(
    { ...config, pausedAt },
    {
      ...{ nats, ledger, retentionMs, partitions: onePartition, occurrences: quiet as never },
      ...{ budget: new ByteBudget(1_000_000), packs: new SharedPacks() },
      openSender: () => ({ limits: () => ({}), close: () => {} }) as never,
      deletedAfterMs: () => undefined,
      deliveryLog: { of: () => quiet as never },
    },
  )
  t.teardown(() => run.close())
  await sleep(retentionMs / 2)
  const writer = new PackWriter()
  writer.append('key', 0, JSON.stringify({ event_id: 'ev_1', event_type: 'log.v0' }))
  const headers = {
    [packHeaders.pack]: 'ed_1.pack',
    [packHeaders.storedAt]: String(Date.now() - retentionMs),
    ...{ [packHeaders.stream]: 'records', [packHeaders.segments]: '1:1' },
  }
  const subject = deliverySubject('ed_1')
  const storedMs = Date.now()
  await nats.publish(subject, writer.take(), { headers })
  run.sources.open(onePartition.all[0]!)
  await until(
    'it is dropped',
    async () => (await nats.nextMessage(deliveriesStream, subject)) === undefined,
    retentionMs,
  )
  t.ok(Date.now() < storedMs + retentionMs, 'it was moved later than that')
  const last = await nats.lastMessage(ledgerStream, ledgerSubject)
  t.match([...readEntries(last!.data)].at(-1), { pack: 'ed_1.pack', dropped: { kinds: [['log.v0', '1:1']] } })
})
