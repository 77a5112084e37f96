/** The last attempts of a destination, and what AWS bills for it. */
import t from 'tap'
import type { SendOutcome } from '../../../src/delivery/deliver/kind/sender.js'
import { kindNamed } from '../../../src/delivery/deliver/kinds.js'
import { AcceptedRate, RequestHistory, UsageCounter } from '../../../src/delivery/deliver/request-history.js'
import { billingOf } from '../../../src/management/operate/advice/billed-units.js'
import { someEvents } from './events.js'
import { accepted, config, fault, openLane, roomForAll } from './fake-lane.js'

/** Timers of a lane keep no process alive; a test waits for them nevertheless. */
const keepAlive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(keepAlive))

const id = config.id

/** A lane whose requests are remembered. */
function remembered(behave: (request: number) => SendOutcome, kind = 'kinesis') {
  const billed = new Map<string, number>()
  const history = new RequestHistory({
    log: { of: () => ({ requested: () => {}, deadLettered: () => {} }) },
    occurrences: {
      billingUnits: ({ target, unit }, count = 1) =>
        billed.set(`${target} ${unit}`, (billed.get(`${target} ${unit}`) ?? 0) + count),
    },
  })
  const log = history.of({ ...config, kind })
  const { lane } = openLane(
    (_, request) => behave(request),
    { concurrencyMax: 1 },
    undefined,
    roomForAll,
    log,
  )
  return { history, lane, billed }
}

t.test('attempts are remembered with their outcome, the newest first', async (t) => {
  const throttle = fault('throttle')
  const outcomes: SendOutcome[] = [
    { outcome: 'failed', fault: { ...fault('transient'), requestId: 'r1' } },
    { outcome: 'partial', retry: [0, 2], rejected: [], reason: throttle, requestId: 'r2' },
    { outcome: 'accepted', requestId: 'r3' },
  ]
  const { history, lane } = remembered((request) => outcomes[request - 1] ?? accepted)
  await lane.deliver(someEvents(4))
  const attempts = history.attemptsOf(id)!
  t.match(attempts, [
    { outcome: 'delivered', events: 2, accepted: 2, request_id: 'r3', error: null },
    { outcome: 'partial', events: 4, accepted: 2, request_id: 'r2', error: { code: 'throttle' } },
    { outcome: 'failed', events: 4, accepted: 0, request_id: 'r1', error: { code: 'transient' } },
  ])
  t.equal(attempts[2]!.bytes, 2 * attempts[0]!.bytes)
  await lane.close()
})

t.test('a hundred are kept, and none of a deleted destination', async (t) => {
  const { history, lane } = remembered(() => accepted)
  for (let pack = 0; pack < 130; pack += 1) await lane.deliver(someEvents(1))
  t.equal(history.attemptsOf(id)!.length, 100)
  history.forget(id)
  t.equal(history.attemptsOf(id), undefined)
  await lane.close()
})

t.test('each record is rounded up to whole billing units', (t) => {
  const kib = 1024
  const cases = [
    { name: 'small records', kind: 'kinesis', sizes: [100, 100], counts: [2, 2], packed: [1, 1] },
    { name: 'a record of 26 KB', kind: 'kinesis', sizes: [26 * kib], counts: [2, 26], packed: [2, 26] },
    { name: 'exactly 25 KB', kind: 'kinesis', sizes: [25 * kib], counts: [1, 25], packed: [1, 25] },
    { name: '5 KB of Firehose', kind: 'firehose', sizes: [10, 5 * kib + 1], counts: [3], packed: [2] },
    {
      name: 'bytes of log messages',
      kind: 'cloudwatch_logs',
      sizes: [126, 40],
      counts: [166],
      packed: [166],
    },
  ]
  for (const { name, kind, sizes, counts, packed } of cases) {
    const usage = new UsageCounter(kindNamed(kind).aws!.billing!)
    t.same(usage.add(sizes.length, sizes), counts, name)
    const report = Object.values(usage.report().units)
    t.same(
      report,
      counts.map((count, index) => ({ count, packed: packed[index] })),
      name,
    )
  }
  t.end()
})

t.test('units of accepted records are counted in the metrics', async (t) => {
  const { lane, billed } = remembered(() => accepted)
  await lane.deliver(someEvents(3))
  t.same(Object.fromEntries(billed), { 'kinesis put_payload_units': 3, 'kinesis kilobytes': 3 })
  await lane.close()
})

t.test('a refused record costs nothing, a packed one counts once', async (t) => {
  const data = { base64: Buffer.alloc(300, 'x').toString('base64'), dataBytes: 300 }
  const records = [
    { ...data, partitionKey: 'a', partitionKeyBytes: 1, indices: [0, 2] },
    { ...data, partitionKey: 'b', partitionKeyBytes: 1, indices: [1, 3] },
  ]
  const { history, lane } = remembered((request) =>
    request === 1
      ? { outcome: 'partial', retry: [1, 3], rejected: [], reason: fault('throttle'), records }
      : { outcome: 'accepted', records: [{ ...records[1]!, indices: [0, 1] }] },
  )
  await lane.deliver(someEvents(4))
  t.match(history.usageOf(id), { events: 4, records: 2, bytes: 602, units: { kilobytes: { count: 2 } } })
  await lane.close()
})

t.test('the rate of accepted events over about a minute', (t) => {
  let nowMs = 100_000
  const rate = new AcceptedRate(() => nowMs)
  t.equal(rate.perSecond(), 0, 'nothing yet')
  rate.add(50)
  t.equal(rate.perSecond(), 10, 'a young destination: over a slot')
  nowMs += 20_000
  rate.add(50)
  t.equal(rate.perSecond(), 5, 'over its age')
  nowMs += 39_000
  const spanMs = 59_000
  t.equal(rate.perSecond(), 100_000 / spanMs, 'over a minute')
  nowMs += 15_000
  t.equal(rate.perSecond(), 50_000 / 59_000, 'the first ones are too old')
  nowMs += 3_600_000
  t.equal(rate.perSecond(), 0, 'after a long silence')
  t.end()
})

t.test('events that the service did not accept are not in the rate', async (t) => {
  const { history, lane } = remembered((request) =>
    request === 1 ? { outcome: 'failed', fault: fault('transient') } : accepted,
  )
  await lane.deliver(someEvents(5))
  t.equal(history.rateOf(id), 1, '5 events in a slot of 5 s')
  history.forget(id)
  t.equal(history.rateOf(id), undefined)
  await lane.close()
})

t.test('what packing would save is said in numbers, if it is worth it', (t) => {
  const usage = (count: number, packed: number) => ({
    sinceMs: 0,
    events: count,
    records: count,
    bytes: count * 500,
    units: { put_payload_units: { count, packed }, kilobytes: { count, packed } },
  })
  const kinesis = kindNamed('kinesis')
  const saving = (...given: Parameters<typeof billingOf>) => billingOf(...given)?.saving
  t.match(billingOf(kinesis, 'none', [usage(900, 20), usage(100, 5)]), {
    since: '1970-01-01T00:00:00.000Z',
    events: 1000,
    units: [{ name: 'put_payload_units', count: 1000, count_if_packed: 25 }, { name: 'kilobytes' }],
    saving:
      'The 1000 events took 1000 put_payload_units. With the packing "ndjson" they would take 25, 97 % less. A filter that keeps back a tenth of the events saves 100.',
  })
  t.notMatch(saving(kinesis, 'none', [usage(100, 98)]), 'ndjson', 'too little')
  t.notMatch(saving(kinesis, 'ndjson', [usage(100, 5)]), 'they would take', 'it is on')
  t.equal(saving(kinesis, 'none', [usage(0, 0)]), null, 'no events')
  t.equal(billingOf(kinesis, 'none', []), null, 'no deliverer')
  t.end()
})
