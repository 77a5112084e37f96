/** Items that arrive during a write are written together, in order; each caller learns the outcome of its own item. */
import fc from 'fast-check'
import t from 'tap'
import { GroupCommit } from '../../../src/ground/core/group-commit.js'

/** A write that ends when the test says so. */
function heldWrites() {
  const groups: number[][] = []
  const ends: HeldWrite[] = []
  const write = (items: readonly number[]): Promise<void> => {
    groups.push([...items])
    return new Promise((resolve, reject) => ends.push({ resolve, reject }))
  }
  const begun = async (count: number): Promise<HeldWrite> => {
    while (ends.length < count) await new Promise((resolve) => setImmediate(resolve))
    return ends[count - 1]!
  }
  return { groups, write, begun }
}

interface HeldWrite {
  resolve(): void
  reject(error: unknown): void
}

t.test('items that arrive during a write are one group', async (t) => {
  const { groups, write, begun } = heldWrites()
  const commits = new GroupCommit<number>({ write })
  const first = commits.add(1)
  const firstWrite = await begun(1)
  const others = [commits.add(2), commits.add(3)]
  firstWrite.resolve()
  await first
  ;(await begun(2)).resolve()
  await Promise.all([...others, commits.written()])
  t.strictSame(groups, [[1], [2, 3]])
})

t.test('items whose callers do not wait are written with the others', async (t) => {
  const { groups, write, begun } = heldWrites()
  const commits = new GroupCommit<number>({ write })
  commits.put(1)
  const waited = commits.add(2)
  ;(await begun(1)).resolve()
  await waited
  commits.put(3)
  const unhandled = t.capture(Promise, 'reject', () => undefined as never)
  ;(await begun(2)).reject(new Error('refused'))
  await commits.written()
  t.match(unhandled(), [{ args: [{ message: 'refused' }] }], 'its error is not swallowed')
  t.strictSame(groups, [[1, 2], [3]])
})

t.test('a failed write rejects its own group only', async (t) => {
  const { write, begun } = heldWrites()
  const commits = new GroupCommit<number>({ write })
  const first = commits.add(1)
  const firstWrite = await begun(1)
  const second = commits.add(2)
  firstWrite.reject(new Error('The disk is full.'))
  await t.rejects(first, { message: 'The disk is full.' })
  ;(await begun(2)).resolve()
  await t.resolves(second)
})

t.test('if one item can be the cause of an error, the others of its group are stored', async (t) => {
  const stored: number[] = []
  const commits = new GroupCommit<number>({
    write: async (items) => {
      if (items.includes(2)) throw new Error('2 is refused.')
      stored.push(...items)
    },
    isItemRefused: () => true,
  })
  const outcomes = await Promise.allSettled([1, 2, 3].map((item) => commits.add(item)))
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.strictSame(stored, [1, 3])
})

t.test('groups are bounded, and items stay in order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat({ max: 20 })),
      fc.integer({ min: 1, max: 30 }),
      async (items, sizeMax) => {
        const groups: (readonly number[])[] = []
        const write = async (group: readonly number[]): Promise<void> => void groups.push(group)
        const commits = new GroupCommit<number>({ write, sizeOf: (item) => item, sizeMax })
        await Promise.all(items.map((item) => commits.add(item)))
        const isBounded = groups.every(
          (group) => group.length === 1 || group.reduce((sum, item) => sum + item, 0) <= sizeMax,
        )
        return isBounded && groups.flat().join() === items.join()
      },
    ),
  )
})
