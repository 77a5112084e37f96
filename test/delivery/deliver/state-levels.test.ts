/** Which destinations the metrics name, and how the others are counted. */
import t from 'tap'
import { type LaneOfDestination, stateLevels } from '../../../src/delivery/deliver/state-levels.js'

const lane = (id: string, state: LaneOfDestination['state'], target = 'kinesis'): LaneOfDestination => ({
  id,
  target,
  state,
})

const cases = [
  { name: 'no destination', lanes: [], max: 2, expected: [] },
  {
    name: 'as many as may be named',
    lanes: [lane('b', 'paused'), lane('a', 'healthy', 'firehose')],
    max: 2,
    expected: ['b kinesis paused 1', 'a firehose healthy 1'],
  },
  {
    name: 'one in trouble is named before healthy ones',
    lanes: [lane('a', 'healthy'), lane('b', 'healthy'), lane('c', 'failing')],
    max: 2,
    expected: ['c kinesis failing 1', 'a kinesis healthy 1', 'other kinesis healthy 1'],
  },
  {
    name: 'the others are counted by target and state',
    lanes: [
      lane('a', 'throttled'),
      lane('b', 'paused'),
      lane('c', 'paused'),
      lane('d', 'healthy', 'firehose'),
    ],
    max: 0,
    expected: ['other kinesis throttled 1', 'other kinesis paused 2', 'other firehose healthy 1'],
  },
]

for (const { name, lanes, max, expected } of cases) {
  t.test(name, (t) => {
    const levels = stateLevels(lanes, max)
    const shown = levels
      .filter(([, value]) => value > 0)
      .map(([{ destination, target, state }, value]) => `${destination} ${target} ${state} ${value}`)
    t.strictSame(shown, expected)
    t.equal(levels.length % 5, 0, 'each has a series for every state')
    t.end()
  })
}

t.test('a hundred thousand are not sorted, and the same ones are named in whatever order they come', (t) => {
  let reads = 0
  const count = 100_000
  const lanes = Array.from({ length: count }, (_, n): LaneOfDestination => {
    const id = `ed_${((n * 7_919) % count).toString().padStart(6, '0')}`
    return {
      get id() {
        reads += 1
        return id
      },
      target: 'kinesis',
      state: n % 10_000 === 17 ? 'failing' : 'healthy',
    }
  })
  const all = stateLevels(lanes, 100)
  t.ok(reads < 5 * count, `${reads} reads of ids`)
  t.strictSame(stateLevels(lanes.toReversed(), 100), all)
  const named = new Set(all.map(([{ destination }]) => destination))
  t.equal(named.size, 101)
  const sum = (state: string) => all.reduce((sum, [of, value]) => sum + (of.state === state ? value : 0), 0)
  t.strictSame([sum('failing'), sum('healthy')], [10, count - 10])
  const failing = lanes.filter(({ state }) => state === 'failing')
  t.ok(failing.every(({ id }) => named.has(id)))
  const first = Array.from({ length: 90 }, (_, n) => `ed_${String(n).padStart(6, '0')}`)
  t.ok(first.every((id) => named.has(id)))
  t.end()
})
