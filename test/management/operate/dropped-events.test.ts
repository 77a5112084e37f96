/**
 * Dropped events are announced, each once, also by an API that was away for longer than a short retention. The stream is
 * real; the totals are the test's.
 */
import t from 'tap'
import { type DroppedTotals, noneDropped } from '../../../src/delivery/books/dropped.js'
import { auditStream, operatorSubject } from '../../../src/delivery/wire/names.js'
import { readPack } from '../../../src/delivery/wire/pack.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { ensureStreams } from '../../../src/delivery/wire/streams.js'
import { DroppedEvents } from '../../../src/management/operate/dropped-events.js'
import type { OperatorObjects } from '../../../src/words/event/operator-event.js'
import { openStreams } from '../../harness/own-streams.js'

const retentionMs = 40_000
const minuteMs = 60_000

t.test('an API that comes back after more than the retention', async (t) => {
  const { nats } = await openStreams(t)
  await ensureStreams(nats, { storageMaxBytes: 16 * 1024 * 1024, retentionMs })
  const { config } = (await nats.streamInfo(auditStream))!
  t.equal(config.max_age, 60 * minuteMs * 1e6, 'an announcement can be looked up for an hour')

  const row = { id: 'ed_a', account_id: 'ac_a', description: null }
  const startMs = Date.now()
  let totals: DroppedTotals
  const drop = (count: number, minutes: number): void => {
    const at = startMs + minutes * minuteMs
    const kinds = { 'log.v0': count }
    totals = { kinds, episode: { beganAt: startMs, endedAt: at, kinds, first: startMs, last: at } }
  }
  /** As a process that has just begun. */
  const lookAt = async (minutes: number): Promise<void> => {
    const dropped = new DroppedEvents({
      nats,
      partitions: { all: onePartition.all },
      destinations: () => [row as never],
      droppedOf: (_, reason) => (reason === 'age' ? totals : noneDropped),
      isTraffic: () => true,
      links: { of: (kind, id) => `http://127.0.0.1/${kind}/${id}` },
      retentionMs,
      occurrences: {
        eventsDropped: () => {},
        eventsVanished: () => t.fail('none vanished'),
        expiryUnwatched: ({ reason }) => void t.fail(String(reason)),
      },
    })
    dropped.close()
    await dropped.lookAt(startMs + minutes * minuteMs)
  }
  const announced = async (): Promise<number[]> => {
    const found: number[] = []
    for (let next = 1; ; ) {
      const subject = operatorSubject(row.account_id, `dropped-${row.id}`)
      const message = await nats.nextMessage(auditStream, subject, next)
      if (message === undefined) return found
      next = message.sequence + 1
      for (const { data } of readPack(message.data).events) {
        const { object } = JSON.parse(data.toString()) as { object: OperatorObjects['events_dropped.v0'] }
        found.push(object.count)
      }
    }
  }

  drop(30, 0)
  await lookAt(5)
  t.strictSame(await announced(), [30], 'five minutes later')
  await lookAt(6)
  t.strictSame(await announced(), [30], 'once')
  drop(50, 7)
  await lookAt(8)
  t.strictSame(await announced(), [30, 20], 'then what is new')
  drop(60, 9)
  await lookAt(9 + 61)
  t.strictSame(await announced(), [30, 20], 'not what was dropped longer ago than it can be looked up')
})
