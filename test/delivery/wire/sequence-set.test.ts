/** A set of ranges against a set of numbers. */
import fc from 'fast-check'
import t from 'tap'
import { type SequenceRange, SequenceSet } from '../../../src/delivery/wire/sequence-set.js'

const range = fc
  .tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 8 }))
  .map(([first, more]): SequenceRange => [first, first + more])

t.test('ranges hold what was added, count what is new, and never touch each other', async (t) => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 30 }), (ranges) => {
      const set = new SequenceSet()
      const model = new Set<number>()
      for (const [first, last] of ranges) {
        let fresh = 0
        for (let sequence = first; sequence <= last; sequence += 1) {
          if (!model.has(sequence)) fresh += 1
          model.add(sequence)
        }
        if (set.add([first, last]) !== fresh) return false
      }
      for (let sequence = 0; sequence <= 70; sequence += 1)
        if (set.has(sequence) !== model.has(sequence)) return false
      const isApart = set.ranges.every(([first], at) => at === 0 || set.ranges[at - 1]![1] < first - 1)
      const again = new SequenceSet(set.ranges)
      return isApart && JSON.stringify(again.ranges) === JSON.stringify(set.ranges)
    }),
    { seed: 1, numRuns: 2_000 },
  )
  t.pass('2,000 schedules')
})

t.test('a copy does not change with its original', async (t) => {
  const set = new SequenceSet([[1, 3]])
  const copy = new SequenceSet(set.ranges)
  set.add([4, 9])
  t.strictSame(copy.ranges, [[1, 3]])
  t.strictSame(set.ranges, [[1, 9]])
})
