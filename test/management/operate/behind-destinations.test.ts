/** The status of records that wait for a destination that is behind. */
import t from 'tap'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { createLogger } from '../../../src/ground/core/telemetry/log.js'
import { createRegistry } from '../../../src/ground/core/telemetry/metrics.js'
import { createOccurrences } from '../../../src/ground/core/telemetry/occurrences.js'
import { adviceFor } from '../../../src/management/operate/advice/delivery-advice.js'
import { BehindDestinations, leavesAtMs } from '../../../src/management/operate/behind-destinations.js'

const hourMs = 60 * 60_000
const nowMs = Date.parse('2026-11-22T12:00:00Z')
const stream = { bytes: 1_000_000, bytesMax: 10_000_000, messages: 1_000, lastSequence: 5_000 }

const cases = [
  {
    situation: 'there is room for days: its age decides',
    message: { sequence: 4_901, storedAtMs: nowMs - hourMs },
    records: { ...stream, ageMaxMs: 24 * hourMs },
    hours: 23,
  },
  {
    situation: 'a tenth of the stream came since, within an hour: the room decides',
    message: { sequence: 4_001, storedAtMs: nowMs - hourMs },
    records: { ...stream, ageMaxMs: 72 * hourMs },
    hours: 5,
  },
  {
    situation: 'more came since than always has room',
    message: { sequence: 4_001, storedAtMs: nowMs - hourMs },
    records: { ...stream, bytes: 7_000_000, ageMaxMs: 72 * hourMs },
    hours: 0,
  },
  {
    situation: 'the age does not matter',
    message: { sequence: 4_001, storedAtMs: nowMs - hourMs },
    records: { ...stream, ageMaxMs: Number.POSITIVE_INFINITY },
    hours: 5,
  },
]

t.test('a message of records leaves at the end of its age, or when its room is needed', async (t) => {
  for (const { situation, message, records, hours } of cases)
    t.equal(Math.round((leavesAtMs(message, records, nowMs) - nowMs) / hourMs), hours, situation)
})

t.test('health names a destination for which records are kept although publishes are refused', async (t) => {
  const entry = { destination_id: 'ed_1', windows: [[10, 20]], done: 9 }
  let on_expiry = 'block'
  let bytes = 5_000_000
  const behind = new BehindDestinations({
    partitions: onePartition,
    nats: {
      payloadBytesMax: 1_000_000,
      streamInfo: async () => ({
        state: { bytes, messages: 50, last_seq: 50 },
        config: { max_bytes: 10_000_000, max_age: 0 },
      }),
      nextMessage: async () => ({ sequence: 10, storedAtMs: Date.now() - hourMs }),
    } as never,
    entries: { size: 1, all: () => [{ entry }], ofDestination: () => [entry] } as never,
    occurrences: createOccurrences({ logger: createLogger('test', 'silent'), registry: createRegistry() }),
    destinationOf: () => ({ id: 'ed_1', on_expiry, target: { kinesis: { stream_arn: 'arn' } } }) as never,
    namedMax: 10,
  })
  t.teardown(() => behind.close())
  await behind.measure()
  t.strictSame(behind.failing, {}, 'there is room')
  t.match(await behind.of('ed_1'), { messages: 10, expires_at: String })
  bytes = 9_500_000
  await behind.measure()
  t.match(behind.failing['on_expiry'], /WEIR_RECORDS is full of records that are kept for .*: ed_1\. Repair/)
  on_expiry = 'drop'
  await behind.measure()
  t.strictSame(behind.failing, {})
})

t.test('the advice says what is wrong, and what waits', async (t) => {
  const target = { kinesis: { stream_arn: 'x' } }
  const row = { id: 'ed_1', account_id: 'ac_1', version: 1, target } as never
  const behind = { since: '2026-11-22T10:00:00.000Z', messages: 1, missed: 0, expires_at: null }
  t.equal(adviceFor(null, row), null)
  t.equal(
    adviceFor(null, row, behind),
    'It is behind: records wait for it in 1 message. It gets their events now.',
  )
  t.match(
    adviceFor('credentials', row, {
      ...behind,
      messages: 7,
      missed: 3,
      expires_at: '2026-11-22T20:00:00.000Z',
    }),
    /^The service refuses the credentials.*\. It is behind: records wait for it in 7 messages\. It gets their events when it works again\. .* from about 2026-11-22T20:00:00\.000Z on\. It has lost the events of 3 messages\.$/,
  )
  const keeping = { id: 'ed_1', on_expiry: 'block' } as never
  t.match(
    adviceFor(null, keeping, { ...behind, expires_at: '2026-11-22T20:00:00.000Z' }),
    /If it stays so, publishes of records are refused \(its on_expiry is block\) from about 2026-11-22T20/,
  )
})
