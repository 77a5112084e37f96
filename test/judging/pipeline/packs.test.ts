/** How packs are stored in the deliveries stream, and how many events they have. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import type { InputMessage } from '../../../src/judging/pipeline/open-pack.js'
import { Packs } from '../../../src/judging/pipeline/packs.js'
import { allBusy, deliveriesStream, deliverySubject } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

type Optional = Pick<ConstructorParameters<typeof Packs>[0], 'inputs' | 'packBegun'>

const packsIn = (t: Test, { nats, ledger }: Awaited<ReturnType<typeof openStreams>>, more: Optional = {}) =>
  new Packs({
    nats,
    ledger,
    partitions: onePartition,
    busy: allBusy,
    stream: 'records',
    failed: (error) => t.fail(String(error)),
    ...more,
  })

/** The clock by which packs become due; it stands still until it is closed. */
function openClock(t: Test) {
  const clock = { nowMs: 1_000_000, close: () => now.mock.restore() }
  const now = mock.method(performance, 'now', () => clock.nowMs)
  t.teardown(clock.close)
  return clock
}

t.test(
  'a record that was published twice within a millisecond: each of its messages has its event',
  async (t) => {
    const streams = await openStreams(t)
    const packs = packsIn(t, streams)

    const store = (sequence: number): Promise<void> =>
      new Promise((stored) => {
        const message: InputMessage = { sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored }
        packs.begin(message)
        packs.packOf('ed_a').append('ev_1', 1_790_000_000_000, '{"event_id":"ev_1"}')
        packs.end()
        packs.storeAll()
      })
    // The last one comes again, as after the end of a process that had stored its pack.
    for (const sequence of [1, 2, 2]) await store(sequence)

    const held: string[] = []
    for (let from = 1; ; ) {
      const pack = await streams.nats.nextMessage(deliveriesStream, deliverySubject('ed_a'), from)
      if (pack === undefined) break
      held.push(pack.headers.get(packHeaders.segments))
      from = pack.sequence + 1
    }
    t.strictSame(held, ['1:1', '2:1'], 'each message has its pack, and one that is done again no other')
  },
)

t.test(
  'a pack that is large enough waits until its events fill its requests, but not for long',
  async (t) => {
    const cases = [
      { name: 'single events: full requests', bytes: 300, perMessage: 1, events: 1_000 },
      { name: 'messages that end between requests', bytes: 400, perMessage: 300, events: 900 },
      { name: 'large events: no more than half as much again', bytes: 2_000, perMessage: 1, events: 195 },
      { name: 'exactly at the end of a request', bytes: 600, perMessage: 100, events: 500 },
    ]
    for (const { name, bytes, perMessage, events } of cases) {
      const streams = await openStreams(t)
      const packs = packsIn(t, streams)
      const head = '{"event_id":"'
      const json = `${head}${'x'.repeat(bytes - head.length - 2)}"}`
      const stored: Promise<void>[] = []
      for (let sequence = 1; sequence * perMessage <= 2 * events; sequence += 1) {
        const promise = new Promise<void>((resolve) => {
          packs.begin({ sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored: resolve })
        })
        stored.push(promise)
        for (let n = 0; n < perMessage; n += 1) packs.packOf('ed_a').append('ev_1', 1_790_000_000_000, json)
        packs.end()
      }
      packs.storeAll()
      await Promise.all(stored)
      const pack = await streams.nats.nextMessage(deliveriesStream, deliverySubject('ed_a'))
      t.equal(Number(pack?.headers.get(packHeaders.events)), events, name)
    }
  },
)

t.test('without a backlog, packs of one of many inputs are rarer than those of the only one', async (t) => {
  const streams = await openStreams(t)
  const gapsMs = async (inputs: number): Promise<number[]> => {
    const storedMs: number[] = []
    const clock = openClock(t)
    const packs = packsIn(t, streams, {
      inputs: () => inputs,
      packBegun: () => {
        storedMs.push(clock.nowMs)
        return () => {}
      },
    })
    for (let sequence = 1; storedMs.length < 4; sequence += 1) {
      packs.begin({ sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored: () => {} })
      packs.packOf('ed_a').append(`ev_${sequence}`, 1_790_000_000_000, '{"event_id":"ev_1"}')
      packs.end()
      packs.storeDue(true)
      clock.nowMs += 5
    }
    clock.close()
    await packs.close(10_000)
    return storedMs.slice(1).map((ms, n) => ms - storedMs[n]!)
  }
  const [ofOne, ofEight] = [Math.min(...(await gapsMs(1))), Math.min(...(await gapsMs(8)))]
  t.ok(ofOne >= 149 && ofOne < 300, `one input: ${ofOne} ms`)
  t.ok(ofEight >= 310, `eight inputs: ${ofEight} ms`)
})

t.test(
  'with a backlog, packs of many destinations wait for more events, unless many messages wait',
  async (t) => {
    const streams = await openStreams(t)
    const destinations = 200
    /** How many of the packs of so many messages are due after so long. */
    const dueAfter = async (ms: number, messages: number): Promise<number> => {
      const clock = openClock(t)
      let stored = 0
      const packs = packsIn(t, streams, {
        packBegun: () => {
          stored += 1
          return () => {}
        },
      })
      for (let sequence = 1; sequence <= messages; sequence += 1) {
        packs.begin({ sequence, since: 'run 1', packsOpen: 0, isRouted: false, stored: () => {} })
        const destination = `ed_${sequence % destinations}`
        packs.packOf(destination).append(`ev_${sequence}`, 1_790_000_000_000, '{"event_id":"ev_1"}')
        packs.end()
      }
      clock.nowMs += ms
      packs.storeDue(false)
      const due = stored
      clock.close()
      await packs.close(10_000)
      return due
    }
    t.equal(await dueAfter(999, destinations), 0, 'five milliseconds for each')
    t.equal(await dueAfter(1_000, destinations), destinations)
    t.equal(await dueAfter(400, 2_001), destinations, 'no longer than 400 ms')
  },
)

t.test(
  'a message that is paused: its parts have numbers, and messages between them keep theirs',
  async (t) => {
    const streams = await openStreams(t)
    const packs = packsIn(t, streams)
    const message = (sequence: number) => {
      const ended = { stored: false }
      const given: InputMessage = {
        sequence,
        since: 'run 1',
        packsOpen: 0,
        isRouted: false,
        stored: () => {
          ended.stored = true
        },
      }
      return { given, ended }
    }
    const put = (id: string, events: number): void => {
      for (let n = 0; n < events; n += 1)
        packs.packOf('ed_a').append(id, 1_790_000_000_000, `{"event_id":"${id}"}`)
    }
    const [long, short] = [message(5), message(6)]
    packs.begin(long.given)
    put('long', 3)
    packs.pause()
    packs.begin(short.given)
    put('short', 1)
    packs.end()
    packs.storeAll()
    await until('the message between them is stored', () => short.ended.stored)
    t.notOk(long.ended.stored, 'more of it follows')
    packs.begin(long.given)
    packs.pause()
    packs.begin(long.given)
    put('long', 2)
    packs.end()
    packs.storeAll()
    await until('all of it is stored', () => long.ended.stored)
    const pack = await streams.nats.nextMessage(deliveriesStream, deliverySubject('ed_a'))
    t.equal(pack?.headers.get(packHeaders.segments), '5:3,6:1')
    const next = await streams.nats.nextMessage(deliveriesStream, deliverySubject('ed_a'), pack!.sequence + 1)
    t.equal(next?.headers.get(packHeaders.segments), '5/1:2')
  },
)
