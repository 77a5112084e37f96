/** Packs of the shared consumer that no run takes: each is moved or dropped. */
import t, { type Test } from 'tap'
import { readEntries } from '../../../src/delivery/books/ledger-lines.js'
import { ByteBudget } from '../../../src/delivery/deliver/lane/byte-budget.js'
import { type Offered, SharedConsumer } from '../../../src/delivery/deliver/shared-consumer.js'
import { ledgerStream, ledgerSubject, packHeaders } from '../../../src/delivery/wire/names.js'
import { firstStoredAtMs } from '../../../src/delivery/wire/pack-message.js'
import { onePartition, sharedSubject } from '../../../src/delivery/wire/partitions.js'
import type { Nats } from '../../../src/ground/nats/nats.js'
import { deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

const first = onePartition.all[0]!
const shared = sharedSubject(first, 'ed_1')
const traces = '[["00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]]'
const segments = {
  [packHeaders.stream]: 'records',
  [packHeaders.segments]: '1:1',
  [packHeaders.traces]: traces,
}

/** A shared consumer whose destinations answer like this; a pack of `ed_1` is published. */
async function openShared(t: Test, offer: () => Offered) {
  const { nats, ledger } = await openStreams(t)
  const moved: string[] = []
  const faults: unknown[] = []
  const consumer = new SharedConsumer(first, {
    nats,
    ledger,
    offer,
    opens: Promise.resolve(),
    budget: new ByteBudget(1_000_000),
    occurrences: { deliveryFaulted: (fault) => void faults.push(fault), stoppedEarly: () => {} },
    moved: (destination) => void moved.push(destination),
  })
  t.teardown(() => consumer.close())
  await nats.publish(shared, 'events', { msgId: 'ed_1.pack', headers: segments })
  const lastEntry = async () => {
    const message = await nats.lastMessage(ledgerStream, ledgerSubject)
    return message && [...readEntries(message.data)].at(-1)
  }
  await until('it is gone', async () => (await nats.nextMessage(deliveriesStream, shared)) === undefined)
  return { nats, moved, faults, lastEntry }
}

t.test('a pack that is not taken comes from its own consumer, under its own id', async (t) => {
  const { nats, moved, faults, lastEntry } = await openShared(t, () => 'moved')
  const pack = (await nats.nextMessage(deliveriesStream, deliverySubject('ed_1')))!
  t.equal(Buffer.from(pack.data).toString(), 'events')
  t.equal(pack.headers.get(packHeaders.pack), 'ed_1.pack')
  t.equal(pack.headers.get(packHeaders.traces), traces, 'its traces go on')
  const storedAtMs = Number(pack.headers.get(packHeaders.storedAt))
  t.ok(storedAtMs > 0 && storedAtMs <= pack.storedAtMs, 'its age counts from when it was stored first')
  t.equal(firstStoredAtMs(pack), storedAtMs)
  t.match(await lastEntry(), { type: 'pack', pack: 'ed_1.pack', sequence: pack.sequence, segments: '1:1' })
  t.strictSame([moved, faults], [['ed_1'], []])
})

t.test('one of a destination that stays unknown does not come again for ever', async (t) => {
  let offers = 0
  const { nats } = await openShared(t, () => {
    offers += 1
    return 'unknown'
  })
  t.ok(offers > 1, 'its configuration may be on its way')
  t.not(await nats.nextMessage(deliveriesStream, deliverySubject('ed_1')), undefined)
})

t.test('one of a deleted destination is dropped, and the books hear of it', async (t) => {
  const { nats, lastEntry } = await openShared(t, () => 'dropped')
  t.equal(await nats.nextMessage(deliveriesStream, deliverySubject('ed_1')), undefined)
  t.strictSame(await lastEntry(), { type: 'dropped', destination: 'ed_1' })
})

t.test('while a pack cannot be moved, one is tried for all that must be', async (t) => {
  const { nats, ledger } = await openStreams(t)
  const own = Array.from({ length: 20 }, (_, n) => `ed_${n}`)
  let isFull = true
  let tries = 0
  const publish: Nats['publish'] = (subject, ...message) => {
    tries += 1
    if (isFull) throw new Error('maximum bytes exceeded')
    return nats.publish(subject, ...message)
  }
  const faults: unknown[] = []
  const consumer = new SharedConsumer(first, {
    ledger,
    offer: () => 'moved',
    moved: () => {},
    opens: Promise.resolve(),
    budget: new ByteBudget(1_000_000),
    nats: {
      publish,
      openConsumer: (options) => nats.openConsumer(options),
      onReconnect: (listener) => nats.onReconnect(listener),
      acknowledgements: nats.acknowledgements,
    },
    occurrences: { deliveryFaulted: (fault) => void faults.push(fault), stoppedEarly: () => {} },
    unmoved: { againMs: 300, tryEveryMs: 2_000 },
  })
  t.teardown(() => consumer.close())
  for (const id of own)
    await nats.publish(sharedSubject(first, id), 'events', { msgId: `${id}.pack`, headers: segments })
  await until('it is tried again', () => tries > 1)
  t.equal(tries, 2, 'each has come several times meanwhile')
  t.equal(faults.length, tries)
  isFull = false
  const isMoved = async (id: string) =>
    (await nats.nextMessage(deliveriesStream, deliverySubject(id))) !== undefined
  await until('all are moved', async () => (await Promise.all(own.map(isMoved))).every(Boolean))
  t.equal(tries, 2 + own.length)
})

t.test('nothing is pulled before it opens, nor if it is closed before', async (t) => {
  const { nats, ledger } = await openStreams(t)
  let open = (): void => {}
  const opens = new Promise<void>((resolve) => {
    open = resolve
  })
  const offered: string[] = []
  let opened = 0
  const { acknowledgements } = nats
  const openConsumer: typeof nats.openConsumer = (consumer) => {
    opened += 1
    return nats.openConsumer(consumer)
  }
  const options = {
    nats: {
      openConsumer,
      acknowledgements,
      publish: nats.publish.bind(nats),
      onReconnect: nats.onReconnect.bind(nats),
    },
    ledger,
    opens,
    budget: new ByteBudget(1_000_000),
    moved: () => {},
    offer: (id: string): Offered => {
      offered.push(id)
      return 'dropped'
    },
    occurrences: {
      deliveryFaulted: (fault: object) => t.fail(JSON.stringify(fault)),
      stoppedEarly: () => {},
    },
  }
  const consumer = new SharedConsumer(first, options)
  await nats.publish(shared, 'events', { msgId: 'ed_1.pack', headers: segments })
  t.equal(opened, 0)
  const closed = new SharedConsumer(first, options)
  await closed.close()
  open()
  await until('it is pulled', () => offered.length > 0)
  await consumer.close()
  t.strictSame([opened, offered], [1, ['ed_1']])
  await nats.publish(shared, 'later', { msgId: 'ed_1.later', headers: segments })
  const byNext: string[] = []
  const offer = (id: string): Offered => {
    byNext.push(id)
    return 'dropped'
  }
  const next = new SharedConsumer(first, { ...options, offer })
  t.teardown(() => next.close())
  await until('the next one pulls what was stored later', () => byNext.length > 0)
  t.strictSame(offered, ['ed_1'])
})
