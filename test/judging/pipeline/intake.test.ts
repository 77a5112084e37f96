/** When an input stores its packs, on real streams. */
import { mock } from 'node:test'
import t from 'tap'
import { noRecords } from '../../../src/delivery/books/ledger.js'
import { onePartition } from '../../../src/delivery/wire/partitions.js'
import { monotonicMs } from '../../../src/ground/core/clock.js'
import { Intake } from '../../../src/judging/pipeline/intake.js'
import { allBusy, recordsStream } from '../../harness/first-partition.js'
import { openStreams } from '../../harness/own-streams.js'
import { until } from '../../harness/weir.js'

t.test('a message waits, but for another process: packs wait for no more events', async (t) => {
  const { nats, ledger } = await openStreams(t)
  for (const n of [1, 2]) await nats.publish('weir.records.eu.node-1', Buffer.from(`record ${n}`))
  const [processedMs, storedMs]: [number[], number[]] = [[], []]
  const intake = new Intake({
    nats,
    partitions: onePartition,
    busy: allBusy,
    ledger,
    stream: recordsStream,
    input: 'records',
    // The server keeps the second message until the first is acknowledged, as if another process had it.
    ackPendingMax: 1,
    process: (_, input) => {
      const { packs } = intake
      packs.begin(input)
      for (let n = 0; n < 1_000; n += 1)
        packs.packOf(`ed_${n}`).append(`ev_${n}`, 1_790_000_000_000, '{"event_id":"ev_1"}')
      packs.end()
      processedMs.push(monotonicMs())
      return { counts: { ...noRecords, sources: [] } }
    },
    packBegun: () => {
      storedMs.push(monotonicMs())
      return () => {}
    },
    unavailable: (error) => t.fail(String(error)),
    unstored: (error) => t.fail(String(error)),
    stoppedEarly: () => t.fail('nothing was given back'),
  })
  intake.open()
  await until('both are processed', () => processedMs.length === 2)
  await intake.close()
  const waitedMs = storedMs[0]! - processedMs[0]!
  t.ok(
    waitedMs < 4_500,
    `${waitedMs} ms; with a backlog, 1,000 destinations have packs that are five seconds old`,
  )
  t.equal(storedMs.length, 2_000)
})

t.test(
  'a message pauses for the last time when nothing else waits: the rest of its events is stored',
  async (t) => {
    const { nats, ledger } = await openStreams(t)
    await nats.publish('weir.records.eu.node-1', Buffer.from('a message of three sections'))
    let isAcknowledged = false
    const acknowledged = (): void => {
      isAcknowledged = true
    }
    const intake = new Intake({
      nats,
      partitions: onePartition,
      busy: allBusy,
      ledger,
      stream: recordsStream,
      input: 'records',
      ackPendingMax: 10,
      process: async (_, input) => {
        const { packs, longWalks } = intake
        packs.begin(input)
        for (const section of [1, 2, 3]) {
          if (section > 1) {
            packs.pause()
            packs.storeAll()
            await until('the events so far are stored', () => packs.isEmpty)
            await intake.pause()
            packs.begin(input)
          }
          // A section takes turns of the event loop, before and after its events: due packs are looked for meanwhile.
          await untilLooked()
          packs.packOf('ed_a').append(`ev_${section}`, 1_790_000_000_000, '{"event_id":"ev_1"}')
          await untilLooked()
        }
        packs.end()
        longWalks.end()
        return { counts: { ...noRecords, sources: [] }, acknowledged }
      },
      unavailable: (error) => t.fail(String(error)),
      unstored: (error) => t.fail(String(error)),
      stoppedEarly: () => t.fail('nothing was given back'),
    })
    const looks = mock.method(intake.packs, 'storeDue').mock
    const untilLooked = async (): Promise<void> => {
      const before = looks.callCount()
      await until('due packs are looked for', () => looks.callCount() >= before + 3)
    }
    intake.open()
    t.teardown(() => intake.close())
    await until('the events of all sections are stored', () => isAcknowledged)
  },
)
