/** How much of the stream of deliveries a destination may hold. */
import t from 'tap'
import { partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { bytesHeld, Shares, shareOf } from '../../../src/judging/pipeline/shares.js'
import { deliverySubject } from '../../harness/first-partition.js'

const mebibyte = 1024 * 1024
const bytesMax = 1_024 * mebibyte

const cases: readonly {
  readonly situation: string
  readonly held: number
  readonly others: number
  readonly level: string
}[] = [
  { situation: 'nothing waits', held: 0, others: 0, level: 'low' },
  { situation: 'the only backlog, small', held: 100, others: 0, level: 'low' },
  { situation: 'the only backlog, larger', held: 300, others: 0, level: 'high' },
  { situation: 'the only backlog, two fifths', held: 420, others: 0, level: 'full' },
  { situation: 'a second one, as large as what is free', held: 220, others: 400, level: 'full' },
  { situation: 'a healthy one next to two that have their shares', held: 10, others: 560, level: 'low' },
  { situation: 'packs on their way, although nothing is free', held: 3, others: 900, level: 'high' },
]

t.test('a destination may hold as much as is free', async (t) => {
  for (const { situation, held, others, level } of cases) {
    const share = shareOf(held * mebibyte, { bytes: (held + others) * mebibyte, bytesMax })
    t.equal(share.level, level, situation)
    t.equal(share.room > 0, level === 'low', `${situation}: room for a replay`)
  }
})

t.test('however many destinations are dead, something is left for the others', async (t) => {
  const held = new Array<number>(100).fill(0)
  const total = () => held.reduce((sum, bytes) => sum + bytes, 0)
  for (let filled = true; filled; ) {
    filled = false
    for (let index = 0; index < held.length; index += 1) {
      if (shareOf(held[index]!, { bytes: total(), bytesMax }).level === 'full') continue
      held[index]! += mebibyte / 4
      filled = true
    }
  }
  t.ok(total() < bytesMax * 0.81, `${total() / bytesMax}`)
})

t.test('bytes are estimated from the number of packs and their mean size', async (t) => {
  const packs = new Map([
    ['ed_a', 1_000],
    ['ed_b', 10],
    ['ed_c', 10],
  ])
  const means = new Map([
    ['ed_a', 1_000],
    ['ed_b', 100_000],
  ])
  const held = bytesHeld(packs, { bytes: 2_040_000, messages: 1_020 }, (id) => means.get(id))
  t.equal(Math.round(held.get('ed_a')! / 10_000), 101)
  t.equal(Math.round(held.get('ed_b')! / 10_000), 101)
  t.equal(Math.round(held.get('ed_c')! / 10_000), 2, 'an unknown one has packs of the mean size')
})

t.test('what a replay stores between two looks is limited by the room', async (t) => {
  let bytes = 0
  let counts: Record<string, number> = {}
  const shares = new Shares({
    streamInfo: async () => ({ state: { bytes, messages: 400 }, config: { max_bytes: bytesMax } }) as never,
    subjectCounts: async () => counts,
  })
  t.notOk(shares.hasRoom('ed_a'), 'not before the first look')
  t.ok(shares.isDue)
  await shares.look()
  t.notOk(shares.isDue, 'nothing was stored since')
  t.notOk(shares.isCounting)
  t.ok(shares.hasRoom('ed_a'))
  const ended = shares.packBegun('ed_a', 210 * mebibyte)
  t.ok(shares.isDue, 'a pack was stored')
  t.notOk(shares.hasRoom('ed_a'))
  t.ok(shares.hasRoom('ed_b'))
  ended()
  bytes = 420 * mebibyte
  counts = { [deliverySubject('ed_a')]: 400 }
  await shares.look()
  t.ok(shares.isCounting)
  t.ok(shares.isDue, 'a destination may have used its share')
  t.strictSame([...shares.full()], ['ed_a'])
  t.notOk(shares.hasRoom('ed_a'))
  t.ok(shares.hasRoom('ed_b'))
})

t.test('what is stored between two looks is bounded', async (t) => {
  const small = 16 * mebibyte
  let bytes = 0
  const shares = new Shares({
    streamInfo: async () => ({ state: { bytes, messages: 1_000 }, config: { max_bytes: small } }) as never,
    subjectCounts: async () => ({ [deliverySubject('ed_dead')]: 1_000 }),
  })
  const store = (destination: string, sum: number): void => {
    for (let stored = 0; stored < sum; stored += 64 * 1024) shares.packBegun(destination, 64 * 1024)()
  }
  store('ed_dead', small)
  t.notOk(shares.isOutgrown, 'before the first look, the size of the stream is not known')
  await shares.look()
  store('ed_dead', 6 * mebibyte)
  store('ed_other', 6 * mebibyte)
  t.notOk(shares.isOutgrown, 'each has used less than half of its room')
  store('ed_dead', mebibyte)
  t.ok(shares.isOutgrown)
  bytes = 6 * mebibyte
  await shares.look()
  t.notOk(shares.isOutgrown, 'until it has grown again')
  store('ed_dead', mebibyte)
  t.ok(shares.isOutgrown, 'the less room it has left, the sooner')
  bytes = 10 * mebibyte
  await shares.look()
  t.equal(shares.levelOf('ed_dead'), 'full')
  store('ed_dead', mebibyte / 4)
  t.notOk(shares.isOutgrown)
  store('ed_dead', mebibyte / 4)
  t.ok(shares.isOutgrown, 'a sixty-fourth of the stream at most, however full it is')
})

t.test('packs on their way at a look count as held until they are stored', async (t) => {
  const small = 16 * mebibyte
  let bytes = 0
  let arrive = (): void => undefined
  const shares = new Shares({
    streamInfo: async () => {
      arrive()
      return { state: { bytes, messages: 1_000 }, config: { max_bytes: small } } as never
    },
    subjectCounts: async () => (bytes > 0 ? { [deliverySubject('ed_other')]: 1_000 } : {}),
  })
  await shares.look()
  const ended = shares.packBegun('ed_dead', 7 * mebibyte)
  t.ok(shares.isOutgrown)
  await shares.look()
  t.strictSame([...shares.full()], ['ed_dead'], 'a look at a stream without it does not forget the burst')
  t.equal(shares.levelOf('ed_other'), 'low')
  ended()
  bytes = mebibyte
  await shares.look()
  t.strictSame([...shares.full()], [], 'once it is stored, only the stream counts')
  t.equal(shares.levelOf('ed_dead'), 'low')
  arrive = () => shares.packBegun('ed_dead', 7 * mebibyte)()
  await shares.look()
  t.strictSame([...shares.full()], ['ed_dead'], 'a pack that began and ended during the look counts, too')
  arrive = () => undefined
  await shares.look()
  t.strictSame([...shares.full()], [])
})

t.test('what waits in another partition than its own is drained, and no share', async (t) => {
  const [, other] = partitionsUpTo(2)
  const home = partitionsUpTo(1)[0]!
  const shares = new Shares(
    {
      streamInfo: async () =>
        ({ state: { bytes: 420 * mebibyte, messages: 400 }, config: { max_bytes: bytesMax } }) as never,
      subjectCounts: async (stream) =>
        stream === other!.deliveriesStream
          ? { [`${deliverySubject('ed_moved')}.1`]: 400 }
          : { [deliverySubject('ed_stays')]: 400 },
    },
    { all: partitionsUpTo(2), homeOf: () => home },
  )
  await shares.look()
  t.strictSame([...shares.full()], ['ed_stays'], 'a destination that holds nothing at home gets its events')
  t.equal(shares.levelOf('ed_moved'), 'low')
})
