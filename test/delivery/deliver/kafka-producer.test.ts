/**
 * The producer of Kafka against simulated brokers that lose requests and answers, hang, move leaders and forget: each record
 * is written once, unless a broker forgot the producer.
 */
import type { MessageRecord } from '@platformatic/kafka'
import t from 'tap'
import { KafkaCluster, type Topic } from '../../../src/delivery/deliver/kafka/cluster.js'
import { KafkaProducer, type Message } from '../../../src/delivery/deliver/kafka/producer.js'
import { ReachableNetworks } from '../../../src/delivery/outgoing/private-networks.js'

const partitions = 5
const leaders = [1, 2].map((port) => ({ host: 'broker', port }))
const topic: Topic = {
  leaders: Array.from({ length: partitions }, (_, partition) => leaders[partition % leaders.length]),
  mayWrite: true,
}

/** A sequence of numbers below 1, the same for the same seed. */
function numbersFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

interface Log {
  readonly ids: string[]
  /** The next sequence of each producer, and the batch before it. */
  readonly producers: Map<bigint, { next: number; last: string }>
}

type Misfortune =
  | 'none'
  | 'lost request'
  | 'lost answer'
  | 'hangs after'
  | 'hangs before'
  | 'not leader'
  | 'too large'
  | 'unknown producer'

/** Errors of the first partition of a request, by their numbers: nothing is written. */
const refusals = new Map<Misfortune, number>([
  ['not leader', 6],
  ['too large', 10],
  ['unknown producer', 59],
])

const errorOf = (errorCode: number, index: number) => ({
  errorCode,
  index,
  recordErrors: [],
  errorMessage: null,
})

/**
 * Appends the batch of a partition as a broker does, which knows a batch by its numbers; returns the number of the error.
 */
function append(log: Log, producerId: bigint, sequence: number, ids: readonly string[]): number {
  const known = log.producers.get(producerId) ?? { next: 0, last: '' }
  const batch = `${sequence} ${ids.length}`
  if (batch === known.last) return 46
  if (sequence !== known.next) return 45
  log.ids.push(...ids)
  log.producers.set(producerId, { next: sequence + ids.length, last: batch })
  return 0
}

/** In place of the connections to brokers. */
class SimulatedCluster extends KafkaCluster {
  readonly logs: readonly Log[] = Array.from({ length: partitions }, () => ({
    ids: [],
    producers: new Map(),
  }))
  readonly #misfortune: () => Misfortune
  #producers = 0n

  constructor(misfortune: () => Misfortune) {
    super([], 'topic', { networks: new ReachableNetworks(), clientId: 'x', tls: undefined, sasl: undefined })
    this.#misfortune = misfortune
  }

  override any(signal: AbortSignal) {
    return this.connection(leaders[0]!, signal)
  }

  override async connection(...[, signal]: Parameters<KafkaCluster['connection']>) {
    const call = async (
      _apis: unknown,
      _signal: AbortSignal,
      ...args: readonly unknown[]
    ): Promise<unknown> => {
      if (args[0] === null) {
        this.#producers += 1n
        return { producerId: this.#producers, producerEpoch: 0 }
      }
      const [, , records, options] = args as [number, number, MessageRecord[], Options]
      const misfortune = this.#misfortune()
      if (misfortune === 'hangs before') await aborted(signal)
      if (misfortune === 'lost request') throw new Error('The request was lost.')
      const results = this.#produce(records, options, misfortune)
      if (misfortune === 'hangs after') await aborted(signal)
      if (misfortune === 'lost answer') throw new Error('The answer was lost.')
      return { responses: [{ name: 'topic', partitionResponses: results }], throttleTimeMs: 0 }
    }
    return { call } as unknown as Awaited<ReturnType<KafkaCluster['connection']>>
  }

  #produce(records: readonly MessageRecord[], { producerId, sequences }: Options, misfortune: Misfortune) {
    return [...sequences].map(([key, sequence], place) => {
      const partition = Number(key.split(':')[1])
      const refusal = place === 0 ? refusals.get(misfortune) : undefined
      if (refusal !== undefined) return errorOf(refusal, partition)
      const ids = records.filter((each) => each.partition === partition).map(({ value }) => `${value}`)
      return errorOf(append(this.logs[partition]!, producerId, sequence, ids), partition)
    })
  }
}

interface Options {
  readonly producerId: bigint
  readonly sequences: ReadonlyMap<string, number>
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const fail = (): void => reject(new Error('The connection was closed.'))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })

const messageOf = (id: string): Message => ({
  id,
  key: Buffer.from(id),
  value: Buffer.from(id),
  timestampMs: 1,
})

/** Sends parts of what is left, in any order, until all is accepted, as a lane may do. */
async function deliver(producer: KafkaProducer, ids: readonly string[], random: () => number): Promise<void> {
  let left = ids
  for (let round = 0; left.length > 0; round += 1) {
    if (round > 5_000) throw new Error(`${left.length} records are never accepted.`)
    const shuffled = left.map((id) => ({ id, at: random() })).sort((a, b) => a.at - b.at)
    const part = shuffled.slice(0, 1 + Math.floor(random() * left.length)).map(({ id }) => id)
    const abort = new AbortController()
    const sent = producer.send(part.map(messageOf), topic, abort.signal)
    const late = new Promise<undefined>((resolve) => {
      setTimeout(() => {
        resolve(undefined)
        abort.abort()
      }, 5)
    })
    // As `withDeadline`: what comes later is not heard.
    const groups = await Promise.race([sent, late]).catch(() => undefined)
    await sent.catch(() => {})
    const failed = new Set(groups?.flatMap(({ indices }) => indices) ?? part.keys())
    const accepted = new Set(part.filter((_, index) => !failed.has(index)))
    left = left.filter((id) => !accepted.has(id))
  }
}

t.test('each record is written once', async (t) => {
  const misfortunes: Misfortune[] = [
    'none',
    'lost request',
    'lost answer',
    'hangs after',
    'hangs before',
    'not leader',
  ]
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = numbersFrom(seed)
    const cluster = new SimulatedCluster(() => misfortunes[Math.floor(random() * misfortunes.length)]!)
    const producer = new KafkaProducer(cluster, 'topic', 1_000)
    const ids = Array.from({ length: 60 }, (_, index) => `ev_${index}`)
    await deliver(producer, ids, random)
    const written = cluster.logs.flatMap((log) => log.ids)
    t.strictSame(written.sort(), ids.toSorted(), `with the seed ${seed}`)
  }
})

t.test('a broker that forgets the producer, or refuses what it may have: nothing is lost', async (t) => {
  const random = numbersFrom(7)
  let requests = 0
  const cluster = new SimulatedCluster(() => {
    requests += 1
    if (requests % 5 === 0) for (const { producers } of cluster.logs) producers.clear()
    const drawn = random()
    if (drawn < 0.1) return 'too large'
    return drawn < 0.4 ? 'lost answer' : 'none'
  })
  const producer = new KafkaProducer(cluster, 'topic', 1_000)
  const ids = Array.from({ length: 200 }, (_, index) => `ev_${index}`)
  await deliver(producer, ids, random)
  t.strictSame([...new Set(cluster.logs.flatMap((log) => log.ids))].sort(), ids.toSorted())
})

t.test(
  'a batch that was written and is refused when it is repeated: its number is not used again',
  async (t) => {
    const misfortunes: Misfortune[] = ['lost answer', 'too large', 'none']
    const cluster = new SimulatedCluster(() => misfortunes.shift()!)
    const producer = new KafkaProducer(cluster, 'topic', 1_000)
    const { signal } = new AbortController()
    const one: Topic = { ...topic, leaders: [leaders[0]] }
    const send = (id: string) => producer.send([messageOf(id)], one, signal)
    t.match(await send('ev_1'), [{ fault: { class: 'transient' } }])
    t.match(await send('ev_1'), [{ fault: { class: 'poison', code: 'MESSAGE_TOO_LARGE' } }])
    t.same(await send('ev_2'), [])
    t.same(cluster.logs[0]!.ids, ['ev_1', 'ev_2'])
  },
)

t.test(
  'a topic that is recreated with fewer partitions: what is unconfirmed goes to one that exists',
  async (t) => {
    const misfortunes: Misfortune[] = ['lost request', 'lost request']
    const cluster = new SimulatedCluster(() => misfortunes.shift() ?? 'none')
    const producer = new KafkaProducer(cluster, 'topic', 1_000)
    const { signal } = new AbortController()
    const messages = Array.from({ length: 20 }, (_, index) => messageOf(`ev_${index}`))
    await producer.send(messages, topic, signal)
    t.same(await producer.send(messages, { ...topic, leaders: [leaders[0]] }, signal), [])
    t.equal(cluster.logs[0]!.ids.length, messages.length)
  },
)

t.test(
  'a topic that is recreated forgets the producer: the same request begins again, and delivers',
  async (t) => {
    const cluster = new SimulatedCluster(() => 'none')
    const producer = new KafkaProducer(cluster, 'topic', 1_000)
    const { signal } = new AbortController()
    const send = (id: string) => producer.send([messageOf(id)], { ...topic, leaders: [leaders[0]] }, signal)
    t.same(await send('ev_1'), [])
    cluster.logs[0]!.producers.clear()
    t.same(await send('ev_2'), [], 'no second request of the lane is needed')
    t.same(cluster.logs[0]!.ids, ['ev_1', 'ev_2'])
  },
)

t.test(
  'a broker that never knows the producer: the fault is reported, not repeated without end',
  async (t) => {
    let requests = 0
    const cluster = new SimulatedCluster(() => {
      requests += 1
      return 'unknown producer'
    })
    const producer = new KafkaProducer(cluster, 'topic', 1_000)
    const failed = await producer.send([messageOf('ev_1')], topic, new AbortController().signal)
    t.match(failed, [{ fault: { class: 'transient', code: 'UNKNOWN_PRODUCER_ID' } }])
    t.equal(requests, 2)
  },
)
