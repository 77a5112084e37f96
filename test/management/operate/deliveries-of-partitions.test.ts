/** The streams of several partitions, as the API watches them. */
import t from 'tap'
import { packHeaders } from '../../../src/delivery/wire/names.js'
import {
  deliverySubject,
  packPlaces,
  partitionsUpTo,
  sharedSubject,
} from '../../../src/delivery/wire/partitions.js'
import { AgeLimits } from '../../../src/management/operate/age-limits.js'
import { ExpiringEvents } from '../../../src/management/operate/expiring-events.js'
import { idleDestinations } from '../../harness/idle-status.js'

const retentionMs = 60_000

t.test(
  'a destination is stuck if the same pack is the oldest twice, and not another of the same number',
  async (t) => {
    const partitions = { all: partitionsUpTo(2) }
    const storedAtMs = new Map<string, number>()
    let levels = (): readonly unknown[] => []
    const watch = new ExpiringEvents({
      partitions,
      nats: {
        streamInfo: async () => ({ state: { messages: 1, first_ts: new Date(0).toISOString() } }) as never,
        subjectCounts: async (stream) =>
          storedAtMs.has(stream)
            ? { [stream === 'WEIR_DELIVERIES' ? 'weir.deliveries.ed_1' : 'weir.deliveries.ed_1.1']: 1 }
            : {},
        consumerInfo: async () => undefined,
        nextMessage: async (stream) =>
          storedAtMs.has(stream) ? ({ sequence: 5, storedAtMs: storedAtMs.get(stream) } as never) : undefined,
        lastMessage: async () => undefined,
        publishAfter: async () => 1,
      },
      destinationOf: (id) => ({ id, account_id: 'ac_1', target: { nats: {} } }) as never,
      destinations: idleDestinations,
      backlogOf: () => 1,
      links: { of: () => ({}) as never },
      retentionMs,
      ages: { now: Date.now },
      namedMax: 10,
      occurrences: {
        backlogExpiry: (read: () => readonly unknown[]) => {
          levels = read
        },
        eventsExpiring: () => {},
        expiryUnwatched: () => {},
      } as never,
    })
    t.teardown(() => watch.close())
    storedAtMs.set('WEIR_DELIVERIES', 1_000)
    storedAtMs.set('WEIR_DELIVERIES_1', 2_000)
    await watch.lookAt(retentionMs)
    storedAtMs.delete('WEIR_DELIVERIES')
    await watch.lookAt(retentionMs)
    t.equal(levels().length, 0, 'the first pack was delivered')
    await watch.lookAt(retentionMs)
    t.equal(levels().length, 1)
  },
)

t.test(
  'a pack that was moved is found in a stream of younger messages, and others are not asked about',
  async (t) => {
    const partitions = { all: partitionsUpTo(2) }
    const [partition] = partitions.all
    const asked: string[] = []
    const announced: unknown[] = []
    const headers = new Map([[packHeaders.storedAt, '1000']])
    const watch = new ExpiringEvents({
      partitions,
      nats: {
        streamInfo: async () => ({ state: { messages: 2, first_ts: new Date().toISOString() } }) as never,
        subjectCounts: async (stream) =>
          stream === partition!.deliveriesStream
            ? { [deliverySubject(partition!, 'ed_moved')]: 1, [sharedSubject(partition!, 'ed_idle')]: 1 }
            : {},
        consumerInfo: async () => undefined,
        nextMessage: async (stream, subject) => {
          asked.push(`${stream} ${subject}`)
          return subject.endsWith('moved')
            ? ({ sequence: 5, storedAtMs: Date.now(), headers } as never)
            : undefined
        },
        lastMessage: async () => undefined,
        publishAfter: async () => 1,
      },
      destinationOf: (id) => ({ id, account_id: 'ac_1', target: { nats: {} } }) as never,
      destinations: idleDestinations,
      backlogOf: () => 1,
      links: { of: () => ({}) as never },
      retentionMs,
      ages: { now: Date.now },
      namedMax: 10,
      occurrences: {
        backlogExpiry: () => {},
        eventsExpiring: (fields: object) => void announced.push(fields),
        expiryUnwatched: () => {},
      } as never,
    })
    t.teardown(() => watch.close())
    await watch.lookAt(retentionMs)
    await watch.lookAt(retentionMs)
    t.match(announced, [{ destination_id: 'ed_moved', first_dropped_at: new Date(61_000).toISOString() }])
    const subjects = packPlaces(partition!, 'ed_moved').map(({ subject }) => `WEIR_DELIVERIES ${subject}`)
    t.strictSame(asked, [...subjects, ...subjects])
  },
)

t.test('an entry of a partition that was deleted lifts no age limit', async (t) => {
  const partitions = { all: partitionsUpTo(2) }
  const ageMs = new Map(partitions.all.map(({ recordsStream }) => [recordsStream, retentionMs]))
  let partition = 1
  const limits = new AgeLimits({
    partitions,
    nats: {
      streamInfo: async (stream) => ({ config: { max_age: ageMs.get(stream)! * 1e6 } }) as never,
      limitAge: async (stream, ms) => void ageMs.set(stream, ms),
    },
    entries: { isComplete: true, ofDestination: () => [{ partition } as never] },
    keeping: () => ['ed_1'],
    retentionMs,
    occurrences: { ageLimitLifted: () => {}, ageLimitRestored: () => {} } as never,
  })
  t.teardown(() => limits.close())
  await limits.look()
  t.strictSame([...ageMs.values()], [0, 0])
  partition = 2
  await limits.look()
  t.strictSame([...ageMs.values()], [retentionMs, retentionMs])
})
