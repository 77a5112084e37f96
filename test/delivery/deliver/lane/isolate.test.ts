import * as fc from 'fast-check'
import t from 'tap'
import { type HalfResult, isolate } from '../../../../src/delivery/deliver/lane/refused-request.js'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

t.test('one culprit among 512 is found at any place, in ten requests', async (t) => {
  for (const count of [1, 2, 3, 7, 500, 512]) {
    for (const culprit of numbers(count)) {
      const accepted: number[] = []
      let requests = 0
      const isolated = await isolate(numbers(count), async (half) => {
        requests += 1
        if (half.includes(culprit)) return 'refused'
        accepted.push(...half)
        return 'accepted'
      })
      const others = [...accepted, ...isolated.remaining].sort((a, b) => a - b)
      const complete =
        others.length === count - 1 && others.every((value, at) => value === at + (at >= culprit ? 1 : 0))
      if (isolated.culprit !== culprit || !complete || requests > 10) t.fail(`${culprit} of ${count}`)
    }
  }
  t.pass('every position')
})

t.test('one of several culprits is found, and the others stay with the rest', async (t) => {
  const culprits = [3, 4, 400]
  const isolated = await isolate(numbers(500), async (half) =>
    half.some((value) => culprits.includes(value)) ? 'refused' : 'accepted',
  )
  t.equal(isolated.culprit, 3)
  t.ok(isolated.remaining.includes(4) && isolated.remaining.includes(400))
})

t.test('if only the whole request is refused, there is no culprit', async (t) => {
  for (const count of [2, 3, 7, 500]) {
    const accepted: number[] = []
    const isolated = await isolate(numbers(count), async (half) => {
      accepted.push(...half)
      return 'accepted'
    })
    t.same(isolated, { culprit: undefined, remaining: [] })
    t.same(accepted, numbers(count), 'each item was sent once')
  }
})

t.test('an interrupted search returns everything unfinished', async (t) => {
  let requests = 0
  const isolated = await isolate(numbers(8), async () => {
    requests += 1
    if (requests === 1) return 'accepted'
    return requests === 2 ? 'refused' : 'interrupted'
  })
  t.equal(isolated.culprit, undefined)
  t.same([...isolated.remaining].sort(), [4, 5, 6, 7])
})

// --- every pattern of refusals ---

/** Why a service refuses a request; fixed, so that a run can be repeated. */
interface Service {
  readonly poisonous: ReadonlySet<number>
  /** A request with more items is refused. */
  readonly itemsMax: number
  /** A request with a larger sum of sizes (an item's number modulo 7) is refused. */
  readonly sizeMax: number
  /** The nth request is refused if the nth of these is set and it holds more than one item. */
  readonly whims: readonly boolean[]
}

interface Delivered {
  readonly accepted: number[]
  readonly condemned: number[]
  readonly requests: number
}

const requestItemsMax = 64
const sizeOf = (item: number): number => item % 7

/** Sends all items as a lane does: the rest of a search goes first. */
async function deliver(count: number, service: Service): Promise<Delivered> {
  const accepted: number[] = []
  const condemned: number[] = []
  let requests = 0
  const refusedAlone = new Set<number>()
  const send = async (items: readonly number[]): Promise<HalfResult> => {
    requests += 1
    const isWhim = items.length > 1 && service.whims[requests % service.whims.length] === true
    const isRefused =
      isWhim ||
      items.length > service.itemsMax ||
      (items.length > 1 && items.reduce((sum, item) => sum + sizeOf(item), 0) > service.sizeMax) ||
      items.some((item) => service.poisonous.has(item))
    if (isRefused && items.length === 1) refusedAlone.add(items[0]!)
    if (!isRefused) accepted.push(...items)
    return isRefused ? 'refused' : 'accepted'
  }
  let line = numbers(count)
  while (line.length > 0) {
    const request = line.slice(0, requestItemsMax)
    line = line.slice(request.length)
    if ((await send(request)) === 'accepted') continue
    const { culprit, remaining } = await isolate(request, send)
    if (culprit !== undefined && !refusedAlone.has(culprit))
      throw new Error('condemned without being refused alone')
    if (culprit !== undefined) condemned.push(culprit)
    line = [...remaining, ...line]
  }
  return { accepted, condemned, requests }
}

const counts = fc.integer({ min: 1, max: 200 })
const poisonIn = (count: number) => fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { maxLength: 12 })
const services = counts.chain((count) =>
  fc.record({
    count: fc.constant(count),
    poisonous: poisonIn(count),
    itemsMax: fc.oneof(fc.constant(500), fc.integer({ min: 1, max: 64 })),
    sizeMax: fc.oneof(fc.constant(1e6), fc.integer({ min: 0, max: 200 })),
    whims: fc.oneof(fc.constant([false]), fc.array(fc.boolean(), { minLength: 1, maxLength: 9 })),
  }),
)

const ascending = (a: number, b: number): number => a - b

t.test('whatever requests are refused for, exactly the poisonous items are condemned', async (t) => {
  await fc.assert(
    fc.asyncProperty(services, async ({ count, poisonous, ...service }) => {
      const { accepted, condemned } = await deliver(count, { ...service, poisonous: new Set(poisonous) })
      t.same(condemned.sort(ascending), poisonous.sort(ascending))
      t.same(
        accepted.sort(ascending),
        numbers(count).filter((item) => !poisonous.includes(item)),
        'the others arrive, each once',
      )
    }),
    { seed: 9, numRuns: 300 },
  )
})

t.test(
  'the number of requests is bounded by the poisonous items and the logarithm of a request',
  async (t) => {
    const estates = counts.chain((count) => fc.tuple(fc.constant(count), poisonIn(count)))
    await fc.assert(
      fc.asyncProperty(estates, async ([count, poisonous]) => {
        const service = { poisonous: new Set(poisonous), itemsMax: 500, sizeMax: 1e6, whims: [false] }
        const { requests } = await deliver(count, service)
        const perSearch = Math.log2(requestItemsMax) + 1
        // The rest of a search is sent once more.
        const bound = Math.ceil(count / requestItemsMax) + poisonous.length * (perSearch + 2)
        t.ok(requests <= bound, `${requests} requests, at most ${bound}`)
      }),
      { seed: 10, numRuns: 300 },
    )
  },
)
