/** Streams that are missing are made again, and an idle deployment asks about few. */
import t from 'tap'
import { inquiryLimits } from '../../../src/management/process/inquiry.js'
import { roomProblem, StreamWatch } from '../../../src/management/process/stream-watch.js'

t.test('each stream is asked about only if their number has changed', async (t) => {
  const present = new Set(['A', 'B', 'C', 'of another program'])
  let isAway = false
  let isRefused = false
  const refusals: unknown[] = []
  let asked = 0
  const info = { state: { bytes: 0, messages: 0, first_ts: '' }, config: { max_bytes: 0, max_age: 0 } }
  const nats = {
    isConnected: true,
    payloadBytesMax: 0,
    streamCount: async () => {
      if (isAway) throw new Error('no answer')
      return present.size
    },
    streamInfo: async (name: string) => {
      asked += 1
      return present.has(name) ? info : undefined
    },
  }
  const ignored = () => {}
  const occurrences = {
    streamBytes: ignored,
    streamBytesMax: ignored,
    streamOldest: ignored,
    streamRetention: ignored,
    streamsUnmade: (fields: unknown) => refusals.push(fields),
  }
  const makeStreams = async () => {
    if (isRefused) throw new Error('no room')
    present.add('A').add('B').add('C')
  }
  const streams = ['A', 'B']
  const watch = new StreamWatch({
    nats: nats as never,
    streams,
    occurrences: occurrences as never,
    makeStreams,
    alsoMade: () => ['C'],
  })
  t.teardown(() => watch.close())
  await watch.restoreMissing()
  t.equal(asked, 3, 'at first')
  present.delete('C')
  await watch.restoreMissing()
  t.equal(asked, 4, 'an answer that is still fresh does not hide what was lost after it')
  t.ok(present.has('C'))
  for (let look = 1; look <= 2; look += 1) await watch.restoreMissing()
  t.equal(asked, 6)
  await watch.restoreMissing()
  t.equal(asked, 6, 'nothing has changed')
  present.delete('B')
  await sleepUntilStale()
  await watch.restoreMissing()
  t.equal(asked, 8)
  t.ok(present.has('B'), 'the missing one is made again')
  await sleepUntilStale()
  await watch.restoreMissing()
  t.equal(asked, 11, 'it is looked whether all are there')
  present.delete('C')
  await sleepUntilStale()
  await watch.restoreMissing()
  t.equal(asked, 14)
  t.ok(present.has('C'), 'one that the role is ready without is made again, too')
  t.strictSame(await watch.failing(), {})
  isAway = true
  await sleepUntilStale()
  await watch.restoreMissing()
  t.equal(asked, 17, 'without a count, each is asked about')
  isAway = false
  isRefused = true
  present.delete('A')
  await sleepUntilStale()
  await watch.restoreMissing()
  t.match(refusals, [{ reason: 'no room' }], 'a failure is reported')
})

/** An answer of the watch is used again for so long. */
const sleepUntilStale = () => new Promise((resolve) => setTimeout(resolve, inquiryLimits.freshMs + 20))

t.test('a stream is full if it refuses what a role stores, whatever the server would allow', (t) => {
  const mebibyte = 1024 * 1024
  const cases: [name: string, bytes: number, max: number, payload: number, isFull: boolean][] = [
    ['an empty stream that is smaller than the largest message', 0, mebibyte, 8 * mebibyte, false],
    ['half of it is used', mebibyte / 2, mebibyte, 8 * mebibyte, false],
    ['it takes nothing more', mebibyte, mebibyte, 8 * mebibyte, true],
    ['only tiny messages', mebibyte - 1_000, mebibyte, 8 * mebibyte, true],
    ['a large one with room for one message', 999 * mebibyte, 1_000 * mebibyte, mebibyte, false],
    ['a large one without', 999.5 * mebibyte, 1_000 * mebibyte, mebibyte, true],
    ['no limit', mebibyte, -1, mebibyte, false],
  ]
  for (const [name, bytes, max_bytes, payload, isFull] of cases) {
    const problem = roomProblem({ state: { bytes }, config: { max_bytes } } as never, payload)
    t.equal(problem !== undefined, isFull, name)
    if (isFull) t.match(problem, `refuses messages of more than ${max_bytes - bytes} bytes`)
  }
  t.end()
})
