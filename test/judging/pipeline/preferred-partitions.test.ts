/** Which partitions a pipeline takes messages of, beside others. */
import { mock } from 'node:test'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { partitionsUpTo } from '../../../src/delivery/wire/partitions.js'
import { yieldTurn } from '../../../src/ground/core/clock.js'
import type { ConsumerPosition } from '../../../src/ground/nats/consumers.js'
import type { OnMessage } from '../../../src/ground/nats/responder.js'
import { PreferredPartitions, preferredBy } from '../../../src/judging/pipeline/preferred-partitions.js'
import { until } from '../../harness/weir.js'

/** As `pipeline/preferred-partitions.ts` has it. */
const lookEveryMs = 1_000

const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 20 })

t.test('each partition is preferred by someone, and none has much more than the others', async () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 64 }), (all, count) => {
      const perPartition = Math.max(1, Math.ceil(all.length / count))
      const sets = all.map((id) => preferredBy(id, all, count))
      for (let number = 0; number < count; number += 1) {
        const preferring = sets.filter((set) => set.has(number)).length
        if (preferring < 1 || preferring > perPartition) throw new Error(`${number}: ${preferring}`)
      }
      const loadMax = Math.ceil((perPartition * count) / all.length)
      if (sets.some(({ size }) => size > loadMax)) throw new Error('One has more than its share.')
    }),
  )
})

t.test('none is without work while others have more than their share', async () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 64 }), (all, count) => {
      const sizes = all.map((id) => preferredBy(id, all, count).size)
      const [least, most] = [Math.min(...sizes), Math.max(...sizes)]
      if (least === 0 || most - least > 1) throw new Error(sizes.join())
    }),
  )
})

t.test('all compute the same, in whatever order they heard of each other', async () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 64 }), (all, count) => {
      for (const id of all) {
        const one = [...preferredBy(id, all, count)]
        const other = [...preferredBy(id, all.toReversed(), count)]
        if (one.join() !== other.join()) throw new Error(id)
      }
    }),
  )
})

t.test('with one partition, everyone prefers it', async (t) => {
  const all = ['a', 'b', 'c']
  for (const id of all) t.strictSame([...preferredBy(id, all, 1)], [0])
})

/** Core NATS, within this process; consumers are where `positions` says. */
class Bus {
  readonly #listeners = new Set<OnMessage>()
  readonly positions = new Map<string, ConsumerPosition>()

  readonly nats = {
    emit: (_: string, data: Uint8Array | string): void => {
      for (const listener of [...this.#listeners]) setImmediate(() => listener(Buffer.from(data), () => ''))
    },
    subscribe: (_: string, onMessage: OnMessage) => {
      this.#listeners.add(onMessage)
      return { isRefused: false, close: async () => void this.#listeners.delete(onMessage) }
    },
    consumerInfo: async (stream: string) => this.positions.get(stream),
  }
}

const all = partitionsUpTo(4)
const taken = (of: PreferredPartitions): string => all.map((one) => (of.mayTake(one) ? '1' : '0')).join('')

function openPreferred(t: Test, { nats }: Bus, partitions = all): PreferredPartitions {
  const occurrences = { pipelinesUnheard: (fields: object) => void t.fail(JSON.stringify(fields)) }
  const preferred = new PreferredPartitions({ nats, partitions: { all: partitions }, occurrences })
  t.teardown(() => preferred.close())
  return preferred
}

t.test('two share four partitions; one that stops leaves its own to the other', async (t) => {
  const bus = new Bus()
  const [one, other] = [openPreferred(t, bus), openPreferred(t, bus)]
  t.equal(taken(one), '0000', 'none is taken before others may have answered')
  await until('each has two', () => one.count === 2 && other.count === 2 && taken(one) !== '0000')
  await until('both have begun', () => taken(other) !== '0000')
  t.strictSame(
    all.map((partition) => Number(one.mayTake(partition)) + Number(other.mayTake(partition))),
    [1, 1, 1, 1],
  )
  other.close()
  await until('it takes all', () => taken(one) === '1111')
  t.equal(one.count, 4)
})

t.test('what waits in a partition of the other is taken until it does not wait any more', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const look = async (): Promise<void> => {
    mock.timers.tick(lookEveryMs)
    await yieldTurn()
  }
  const bus = new Bus()
  const [one, other] = [openPreferred(t, bus), openPreferred(t, bus)]
  await until('each has two', () => one.count === 2 && other.count === 2 && taken(one) !== '0000')
  const foreign = all.find((partition) => !one.mayTake(partition))!
  const at = (delivered: number, waiting: number): void => {
    const position = { delivered, waiting, ackFloor: delivered, unacknowledged: waiting }
    bus.positions.set(foreign.recordsStream, position)
  }
  let delivered = 0
  for (let looks = 0; looks < 5; looks += 1) {
    // At each look other messages wait: they are being taken.
    delivered += 100
    at(delivered, 10)
    await look()
    t.notOk(one.mayTake(foreign), 'messages that wait for a moment')
  }
  await look()
  t.ok(one.mayTake(foreign), 'it helps')
  at(delivered + 100, 0)
  await look()
  t.notOk(one.mayTake(foreign), 'it stops helping')
})

t.test('nothing is announced with one partition, and everything is taken', async (t) => {
  const bus = new Bus()
  bus.nats.subscribe = () => t.fail('It listens.') as never
  const alone = openPreferred(t, bus, partitionsUpTo(1))
  t.ok(alone.mayTake(all[0]!))
  t.equal(alone.count, 1)
})

t.test('one that may not hear the others takes everything', async (t) => {
  const refused: object[] = []
  const { nats } = new Bus()
  let refuse: (error: Error) => void = () => {}
  const preferred = new PreferredPartitions({
    nats: {
      ...nats,
      subscribe: (_: string, _onMessage: unknown, onRefused: (error: Error) => void) => {
        refuse = onRefused
        return { isRefused: false, close: async () => {} }
      },
    },
    partitions: { all },
    occurrences: { pipelinesUnheard: (fields: object) => void refused.push(fields) },
  })
  t.teardown(() => preferred.close())
  refuse(new Error('denied'))
  t.strictSame(refused, [{ reason: 'denied' }])
  t.equal(taken(preferred), '1111')
})
