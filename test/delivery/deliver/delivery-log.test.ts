/** The log of deliveries: every event of every request is in a row with what became of it. */
import t from 'tap'
import { outcomeOfRecords } from '../../../src/delivery/deliver/aws/record-results.js'
import {
  DeliveryLog,
  WatchedDeliveries,
  watchedDeliveryBytesMax,
} from '../../../src/delivery/deliver/delivery-log.js'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import {
  type DeliveryOutcome,
  type DeliveryRow,
  readDeliveryRows,
} from '../../../src/delivery/wire/delivery-rows.js'
import { tagOf } from '../../../src/delivery/wire/event-tag.js'
import type { PackedEvent } from '../../../src/delivery/wire/packed-event.js'
import { readWatchedDelivery } from '../../../src/delivery/wire/watched.js'
import { watchedLinesPerSecondMax } from '../../../src/ground/core/limits.js'
import { deliveryRow } from '../../harness/decision-rows.js'
import { eventsOf, someEvents } from './events.js'
import { config, done, fault, openLane, roomForAll } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

type Mode = ConstructorParameters<typeof DeliveryLog>[0]['mode']

/** A lane with a log; `rows` closes the log, and shows each row with the ids of its events. */
function logged(
  behave: (events: readonly PackedEvent[], request: number) => SendOutcome,
  mode: Mode = 'all',
  isWatched = false,
) {
  const batches: Uint8Array[] = []
  const emitted: Uint8Array[] = []
  const log = new DeliveryLog({
    nats: {
      publish: async (subject, data, options) => {
        t.equal(subject, 'weir.log.deliveries')
        t.equal(options?.headers?.['Weir-Rows'], String([...readDeliveryRows(data as Uint8Array)].length))
        batches.push(data as Uint8Array)
        return { sequence: batches.length, duplicate: false }
      },
      emit: (subject, data) => {
        t.equal(subject, 'weir.live.deliveries')
        emitted.push(data as Uint8Array)
      },
    },
    mode,
    watched: { has: () => isWatched },
    occurrences: { decisionRowsLost: () => t.fail('nothing is lost') },
  })
  const { lane } = openLane(behave, {}, undefined, roomForAll, log.of(config))
  const rows = async (): Promise<DeliveryRow[]> => {
    await log.close()
    return batches.flatMap((batch) => [...readDeliveryRows(batch)])
  }
  return { lane, rows, emitted }
}

const at = Date.parse('2026-11-20T10:00:00.250Z')
const pack = (...ids: string[]) => eventsOf(ids.map((id, index) => ({ id, timestampMs: at + index })))
const tags = (...ids: string[]) => ids.map(tagOf)
/** The rows without what depends on the clock, which is checked here. */
const withoutTimes = (rows: readonly DeliveryRow[], startMs: number) =>
  rows.map(({ at: ended, tookMs, ...row }) => {
    t.ok(ended >= startMs && ended <= Date.now() && tookMs >= 0 && tookMs <= Date.now() - startMs)
    return row
  })

const nothing = { requestId: '', shard: '', receipt: '', errorCode: '', error: '' }
const own = { accountId: 'ac_1', destinationId: 'ed_1' }

t.test('a request that is accepted is one row, with the names that the service gave', async (t) => {
  const startMs = Date.now()
  const results = [
    { SequenceNumber: '4966', ShardId: 'shardId-000000000003' },
    { SequenceNumber: '4967', ShardId: 'shardId-000000000001' },
  ]
  const { lane, rows } = logged(() => outcomeOfRecords(results, 0, 'request-1'))
  t.same(await lane.deliver(pack('ev_a', 'ev_b'), 77), done(2, 0, 0))
  t.strictSame(withoutTimes(await rows(), startMs), [
    {
      ...own,
      outcome: 'delivered',
      attempt: 1,
      requests: 1,
      pack: 77,
      ...nothing,
      requestId: 'request-1',
      shard: 'shardId-000000000003',
      receipt: '4966',
      eventsFrom: at,
      eventsUntil: at + 1,
      events: 2,
      tags: tags('ev_a', 'ev_b'),
    },
  ])
})

t.test('a request that is accepted in part: what failed, what is given up, what is sent again', async (t) => {
  const startMs = Date.now()
  const throttled = { ErrorCode: 'ProvisionedThroughputExceededException', ErrorMessage: 'Slow down.' }
  const refused = { ErrorCode: 'ValidationException', ErrorMessage: 'Bad.' }
  const { lane, rows } = logged((_, request) =>
    request === 1
      ? outcomeOfRecords([throttled, { RecordId: 'r-1' }, refused], 2, 'request-1')
      : outcomeOfRecords([{ RecordId: 'r-2' }], 0, 'request-2'),
  )
  t.same(await lane.deliver(pack('ev_a', 'ev_b', 'ev_c'), 5), done(2, 1, 1))
  const common = { ...own, pack: 5, ...nothing }
  t.strictSame(withoutTimes(await rows(), startMs), [
    {
      ...common,
      outcome: 'delivered',
      attempt: 1,
      requests: 1,
      requestId: 'request-1',
      receipt: 'r-1',
      eventsFrom: at + 1,
      eventsUntil: at + 1,
      events: 1,
      tags: tags('ev_b'),
    },
    {
      ...common,
      outcome: 'failed',
      attempt: 1,
      requests: 0,
      requestId: 'request-1',
      errorCode: throttled.ErrorCode,
      error: 'Slow down.',
      eventsFrom: at,
      eventsUntil: at + 2,
      events: 2,
      tags: tags('ev_a', 'ev_c'),
    },
    {
      ...common,
      outcome: 'dead_lettered',
      attempt: 1,
      requests: 0,
      requestId: 'request-1',
      errorCode: refused.ErrorCode,
      error: 'Bad.',
      eventsFrom: at + 2,
      eventsUntil: at + 2,
      events: 1,
      tags: tags('ev_c'),
    },
    {
      ...common,
      outcome: 'delivered',
      attempt: 2,
      requests: 1,
      requestId: 'request-2',
      receipt: 'r-2',
      eventsFrom: at,
      eventsUntil: at,
      events: 1,
      tags: tags('ev_a'),
    },
  ])
})

/** Refuses requests that hold `ev_bad`, and one with 1,000 bytes is never sent. */
const picky = (events: readonly PackedEvent[], request: number): SendOutcome => {
  if (request === 1)
    return { outcome: 'failed', fault: { ...fault('transient'), code: 'InternalFailure', requestId: 'r1' } }
  return events.some(({ id }) => id === 'ev_bad')
    ? { outcome: 'failed', fault: { ...fault('poison'), code: 'ValidationException' } }
    : { outcome: 'accepted' }
}
const mixed = [
  { id: 'ev_good' },
  { id: 'ev_bad' },
  { id: 'ev_large', padding: 'x'.repeat(1000) },
  { id: 'ev_fine' },
]

t.test('the last row of an event says what became of it, and every attempt before has one', async (t) => {
  const { lane, rows } = logged(picky)
  t.match(await lane.deliver(eventsOf(mixed)), { counts: { delivered: 2, dead_lettered: 2 } })
  const all = await rows()
  const of = (id: string) => all.filter((row) => row.tags.includes(tagOf(id)))
  const ends = Object.fromEntries(
    mixed.map(({ id }) => {
      const { outcome, errorCode, attempt } = of(id).at(-1)!
      return [id, { outcome, errorCode, attempt }]
    }),
  )
  t.match(ends, {
    ev_good: { outcome: 'delivered', errorCode: '' },
    ev_bad: { outcome: 'dead_lettered', errorCode: 'ValidationException' },
    ev_large: { outcome: 'dead_lettered', errorCode: 'TooLarge', attempt: 0 },
    ev_fine: { outcome: 'delivered', errorCode: '' },
  })
  const bad = of('ev_bad')
  t.match(bad[0], { outcome: 'failed', attempt: 1, errorCode: 'InternalFailure', requestId: 'r1' })
  t.strictSame(
    bad.map(({ attempt }) => attempt),
    [...bad.keys()].slice(1).concat(bad.length - 1),
    'attempts are counted, and the dead letter names the last',
  )
})

t.test('which attempts have rows', async (t) => {
  const outcomes = async (mode: Mode) => {
    const { lane, rows } = logged(picky, mode)
    await lane.deliver(eventsOf(mixed))
    return [...new Set((await rows()).map(({ outcome }) => outcome))].toSorted()
  }
  t.strictSame(await outcomes('all'), ['dead_lettered', 'delivered', 'failed'])
  t.strictSame(await outcomes('blocked'), ['dead_lettered', 'failed'])
  t.strictSame(await outcomes('off'), [])
})

t.test(
  'attempts to a watched destination are published with their events, whether or not they are logged',
  async (t) => {
    for (const mode of ['all', 'blocked', 'off'] as const) {
      const { lane, rows, emitted } = logged(picky, mode, true)
      await lane.deliver(eventsOf(mixed))
      await rows()
      const published = emitted.map(readWatchedDelivery)
      t.same(
        published.map(({ attempt: { outcome }, events }) => [
          outcome,
          ...events.map((json) => JSON.parse(json).event_id),
        ]),
        [
          ['dead_lettered', 'ev_large'],
          ['failed', 'ev_good', 'ev_bad', 'ev_fine'],
          ['failed', 'ev_good', 'ev_bad', 'ev_fine'],
          ['failed', 'ev_good', 'ev_bad'],
          ['delivered', 'ev_good'],
          ['failed', 'ev_bad'],
          ['dead_lettered', 'ev_bad'],
          ['delivered', 'ev_fine'],
        ],
        mode,
      )
      t.match(published[1]?.attempt, {
        accountId: 'ac_1',
        destinationId: 'ed_1',
        attempt: 1,
        requestId: 'r1',
        errorCode: 'InternalFailure',
        events: 3,
      })
    }
  },
)

t.test('many events are sampled, those that fail apart from those that are delivered', async (t) => {
  const emitted: ReturnType<typeof readWatchedDelivery>[] = []
  let nowMs = 0
  const emit = (_subject: string, data: Uint8Array | string): void =>
    void emitted.push(readWatchedDelivery(data as Uint8Array))
  const watched = new WatchedDeliveries({ emit }, () => nowMs)
  const add = (outcome: DeliveryOutcome, events: readonly PackedEvent[]): void =>
    watched.add(deliveryRow({ outcome, destinationId: 'ed_1' }), events)
  const shown = () => emitted.splice(0).map(({ attempt, events }) => [attempt.events, events.length])
  add('delivered', someEvents(3 * watchedLinesPerSecondMax))
  add('delivered', someEvents(5))
  add('failed', someEvents(5))
  t.strictSame(shown(), [
    [3 * watchedLinesPerSecondMax, watchedLinesPerSecondMax],
    [5, 0],
    [5, 5],
  ])
  nowMs += 1_000
  add('delivered', someEvents(5))
  t.strictSame(shown(), [[5, 5]])
  add('delivered', someEvents(3, 'ev_', { padding: 'x'.repeat(watchedDeliveryBytesMax / 2) }))
  t.strictSame(shown(), [[3, 1]], 'a message is bounded')
})
