/** Which destinations get packs on consumers of their own, as a pipeline sees it. */
import t from 'tap'
import {
  formatNotice,
  noticeHoldsMs,
  type OwnConsumerNotice,
  parseNotice,
} from '../../../src/delivery/wire/own-consumers.js'
import { onePartition, partitionNumbered } from '../../../src/delivery/wire/partitions.js'
import { BusyDestinations } from '../../../src/judging/pipeline/busy-destinations.js'

const minuteMs = 60_000

function openBusy(destinations: number) {
  const state = { nowMs: 10 * minuteMs, destinations }
  const announced: string[] = []
  const emit = (_: string, data: Uint8Array | string): void => {
    announced.push(parseNotice(Buffer.from(data))!.destination)
  }
  let hear = (_: OwnConsumerNotice): void => {}
  const busy = new BusyDestinations({
    nats: {
      emit,
      subscribe: (_, onMessage) => {
        hear = (notice) => onMessage(Buffer.from(formatNotice(notice)), () => '')
        return { close: () => {} } as never
      },
    },
    occurrences: { ownConsumersUnheard: (fields) => t.fail(JSON.stringify(fields)) },
    partitions: onePartition,
    count: () => state.destinations,
    ownConsumersMax: 10,
    nowMs: () => state.nowMs,
  })
  const packs = (id: string, count: number) => Array.from({ length: count }, () => busy.hasNext(id))
  return { state, announced, hear, packs }
}

t.test('while there are few destinations, each has its own', async (t) => {
  const { state, announced, packs } = openBusy(8)
  t.strictSame(packs('ed_1', 2), [true, true])
  state.destinations = 11
  t.strictSame(packs('ed_1', 2), [false, false])
  t.strictSame(announced, [], 'deliverers know by themselves')
  state.destinations = 10
  t.strictSame(packs('ed_1', 1), [false], 'their number may waver')
  state.destinations = 8
  t.strictSame(packs('ed_1', 1), [true])
})

t.test('one with many packs in a minute is busy in it and in the next, and announced in each', async (t) => {
  const { state, announced, packs } = openBusy(11)
  t.strictSame(packs('ed_1', 21), [...Array.from({ length: 20 }, () => false), true])
  t.strictSame(packs('ed_2', 1), [false], 'the others are not')
  t.strictSame(packs('ed_1', 3), [true, true, true])
  t.strictSame(announced, ['ed_1'])
  state.nowMs += minuteMs
  t.strictSame(packs('ed_1', 2), [true, true])
  t.strictSame(announced, ['ed_1', 'ed_1'])
  state.nowMs += minuteMs
  t.strictSame(packs('ed_1', 2), [false, false], 'two packs in a minute are few')
  packs('ed_3', 21)
  state.nowMs += 2 * minuteMs
  t.strictSame(packs('ed_3', 1), [false], 'nor are those of the minute before the last')
})

t.test(
  'one that has its own because another process said so gets packs there while that holds',
  async (t) => {
    const { state, announced, hear, packs } = openBusy(11)
    const [partition] = onePartition.all
    hear({ destination: 'ed_1', partition: partition! })
    t.strictSame([packs('ed_1', 2), packs('ed_2', 1)], [[true, true], [false]])
    state.nowMs += noticeHoldsMs - 1
    t.strictSame(packs('ed_1', 1), [true])
    hear({ destination: 'ed_1', partition: partition! })
    state.nowMs += noticeHoldsMs - 1
    t.strictSame(packs('ed_1', 1), [true], 'it was said again')
    state.nowMs += 1
    t.strictSame(packs('ed_1', 1), [false], 'no one said it again: it works, and shares')
    t.strictSame(announced, [], 'what was heard is not passed on')
    hear({ destination: 'ed_1', partition: partitionNumbered(1)! })
    t.strictSame(packs('ed_1', 1), [false], 'what waits in another partition is old')
  },
)
