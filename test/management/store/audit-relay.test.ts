/** How the audit events of a change are cut into messages, always alike, and which of them were published already. */
import fc from 'fast-check'
import t from 'tap'
import { readPack } from '../../../src/delivery/wire/pack.js'
import { isBeyond, packsOf } from '../../../src/management/store/audit-relay.js'
import { type AuditEvent, type Change, emptyChange } from '../../../src/management/store/change/change.js'

const kibibyte = 1024

const change: Change = { ...emptyChange, id: 'chg_1', at: 7_000, counts: {}, stored: 1 }

const eventOf = (index: number, bytes: number): AuditEvent => {
  const eventId = `ev_${index}`
  const json = `{"event_id":"${eventId}","text":""}`
  const text = 'x'.repeat(Math.max(0, bytes - json.length))
  return { eventId, resourceId: `ipp_${index}`, json: json.replace('""', `"${text}"`) }
}

const eventsOf = (...bytes: readonly number[]): AuditEvent[] =>
  bytes.map((bytes, index) => eventOf(index, bytes))

async function* messages(rendered: readonly (readonly AuditEvent[])[]) {
  yield* rendered
}

async function cut(audits: readonly AuditEvent[], rendered: readonly (readonly AuditEvent[])[] = []) {
  const packs: Uint8Array[] = []
  for await (const pack of packsOf({ ...change, audits }, messages(rendered))) packs.push(pack)
  return packs
}

const idsIn = (pack: Uint8Array): string[] => readPack(pack).events.map(({ id }) => id)

t.test('places at which the events of a change are cut', async (t) => {
  const cases = [
    { name: 'no events', bytes: [], want: [] },
    { name: 'one event', bytes: [100], want: [1] },
    { name: 'events that fit one message', bytes: [100, 100, 100], want: [3] },
    { name: 'an event that fills up the message', bytes: [128 * kibibyte, 127 * kibibyte], want: [2] },
    { name: 'an event that does not fit any more', bytes: [128 * kibibyte, 128 * kibibyte], want: [1, 1] },
    { name: 'an event larger than a message goes alone', bytes: [100, 300 * kibibyte, 100], want: [1, 1, 1] },
    { name: 'a large event first', bytes: [300 * kibibyte, 100], want: [1, 1] },
  ]
  for (const { name, bytes, want } of cases) {
    const packs = await cut(eventsOf(...bytes))
    t.strictSame(
      packs.map((pack) => idsIn(pack).length),
      want,
      name,
    )
  }
})

t.test('rendered events follow the own ones, a message for each group', async (t) => {
  const own = eventsOf(100)
  const rendered = [[eventOf(1, 100), eventOf(2, 100)], [eventOf(3, 100)]]
  t.strictSame((await cut(own, rendered)).map(idsIn), [['ev_0'], ['ev_1', 'ev_2'], ['ev_3']])
  t.strictSame((await cut([], rendered)).map(idsIn), [['ev_1', 'ev_2'], ['ev_3']], 'no own events')
})

t.test('a message holds the events as they were rendered', async (t) => {
  const [event] = eventsOf(100)
  const [pack] = await cut([event!])
  const { events, malformed } = readPack(pack!)
  t.strictSame(malformed, [])
  t.match(events[0], { id: event!.eventId, partitionKey: event!.resourceId, timestampMs: change.at })
  t.equal(events[0]?.data.toString(), `${event!.json}\n`)
})

t.test('every run cuts all events, in order, at the same places', async () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 40, max: 500 }), fc.integer({ min: 40, max: 300_000 })), {
    maxLength: 12,
  })
  const isCutAlike = async (bytes: readonly number[]) => {
    const events = eventsOf(...bytes)
    const packs = await cut(events)
    const isSame = (await cut(events)).every((pack, index) => Buffer.compare(pack, packs[index]!) === 0)
    const ids = packs.flatMap(idsIn)
    return isSame && ids.join() === events.map(({ eventId }) => eventId).join()
  }
  await fc.assert(fc.asyncProperty(sizes, isCutAlike), { numRuns: 50 })
})

t.test('was a part of a change published already?', async (t) => {
  const cases = [
    { name: 'nothing was published', last: { version: 0, part: 0 }, want: false },
    { name: 'only earlier changes', last: { version: 6, part: 9 }, want: false },
    { name: 'an earlier part', last: { version: 7, part: 1 }, want: false },
    { name: 'this part', last: { version: 7, part: 2 }, want: true },
    { name: 'a later part', last: { version: 7, part: 3 }, want: true },
    { name: 'a later change', last: { version: 8, part: 1 }, want: true },
  ]
  for (const { name, last, want } of cases) t.equal(isBeyond({ ...last, sequence: 1 }, 7, 2), want, name)
})
