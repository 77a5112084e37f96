/** What the status says about records that wait for a destination that is behind. */
import t from 'tap'
import { leavesAtMs } from '../../src/api/behind-destinations.js'
import { adviceFor } from '../../src/resource/delivery-status.js'

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

t.test('the advice says what is wrong, and what waits', async (t) => {
  const row = { id: 'ed_1', account_id: 'ac_1', version: 1 } as never
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
})
