/** A NATS that loses streams and buckets under running roles, and what must hold then. */
import type { Test } from 'tap'
import type { Nats } from '../../src/ground/nats/nats.js'
import { retried } from '../../src/ground/nats/retry.js'
import { deliveriesStream, recordsStream } from '../harness/first-partition.js'
import { readyOf } from '../harness/pages.js'
import { until } from '../harness/weir.js'
import { arrivedRecords, type Deployment, record } from './deployment.js'

/** The promise is 30 s; this is for a machine with other work. */
const patienceMs = 300_000
const publishEveryMs = 20
const recordsAfter = 30

export async function streamsIn(nats: Nats): Promise<readonly string[]> {
  const answer = await retried(() => nats.request('$JS.API.STREAM.NAMES', '', 5_000))
  return JSON.parse(Buffer.from(answer).toString()).streams ?? []
}

export const deleteStream = (nats: Nats, stream: string): Promise<unknown> =>
  retried(() => nats.request(`$JS.API.STREAM.DELETE.${stream}`, '', 5_000))

const identitiesIn = async (
  nats: Nats,
  streams: readonly string[],
): Promise<ReadonlyMap<string, unknown>> => {
  const infos = await Promise.all(streams.map((stream) => retried(() => nats.streamInfo(stream))))
  return new Map(streams.map((stream, at) => [stream, infos[at]?.config.description]))
}

/** Records, one after the other, each acknowledged before the next. */
class Traffic {
  readonly acknowledged: number[] = []
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>

  constructor(nats: Nats, next: () => number) {
    this.#ended = this.#publish(nats, next)
  }

  async #publish(nats: Nats, next: () => number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const n = next()
      await nats.publish('weir.records.eu.node-1', record('run', n), { msgId: `run.${n}` })
      this.acknowledged.push(n)
      await new Promise((resolve) => setTimeout(resolve, publishEveryMs))
    }
  }

  async more(count: number): Promise<void> {
    const wanted = this.acknowledged.length + count
    await until(`${count} more records are taken`, () => this.acknowledged.length >= wanted, patienceMs)
  }

  stop(): Promise<void> {
    this.#stop.abort()
    return this.#ended
  }
}

interface Loss {
  readonly name: string
  /** The streams that are lost. */
  readonly streams: readonly string[]
  readonly lose: () => Promise<unknown>
}

export class Losses {
  readonly #deployment: Deployment
  readonly #nats: Nats
  #next = 0

  constructor(deployment: Deployment, nats: Nats) {
    this.#deployment = deployment
    this.#nats = nats
  }

  one(stream: string): Loss {
    return { name: stream, streams: [stream], lose: () => deleteStream(this.#nats, stream) }
  }

  async all(): Promise<Loss> {
    const streams = await streamsIn(this.#nats)
    const lose = () => Promise.all(streams.map((stream) => deleteStream(this.#nats, stream)))
    return { name: 'all, deleted', streams, lose }
  }

  /** The loss is mended, everything works, and what was acknowledged and still existed has arrived. */
  async check(t: Test, { name, streams, lose }: Loss, hasTraffic: boolean): Promise<void> {
    const { api } = this.#deployment.weir
    const before = await identitiesIn(this.#nats, streams)
    const policy = await api.ipPolicy.create({ description: name })
    const traffic = new Traffic(this.#nats, () => this.#next++)
    await traffic.more(recordsAfter)
    if (!hasTraffic) await this.#untilArrived([...traffic.acknowledged])
    if (!hasTraffic) await traffic.stop()
    const startedMs = Date.now()
    await lose()
    // One that is under way may still be stored before the loss, and be acknowledged after it.
    const firstSentAfter = this.#next
    await this.#untilMended(streams, before)
    await this.#untilReady()
    t.comment(`${name}: mended after ${Date.now() - startedMs} ms`)
    t.match(await api.ipPolicy.get(policy.id), { description: name }, 'the configuration is there')
    const after = await api.ipPolicy.create({})
    t.match(await api.ipPolicy.get(after.id), { id: after.id }, 'changes are made')
    if (hasTraffic) {
      await traffic.more(recordsAfter)
      await traffic.stop()
    }
    const later = new Traffic(this.#nats, () => this.#next++)
    await later.more(recordsAfter)
    await later.stop()
    const isGone = [recordsStream, deliveriesStream].some((stream) => streams.includes(stream))
    const kept =
      isGone && hasTraffic ? traffic.acknowledged.filter((n) => n >= firstSentAfter) : traffic.acknowledged
    await this.#untilArrived([...kept, ...later.acknowledged])
    t.pass(`${kept.length + later.acknowledged.length} records arrived`)
    await this.#untilReady()
  }

  async #untilMended(streams: readonly string[], before: ReadonlyMap<string, unknown>): Promise<void> {
    let missing: readonly string[] = []
    const areThere = async (): Promise<boolean> => {
      const after = await identitiesIn(this.#nats, streams)
      missing = streams.filter((stream) => [undefined, before.get(stream)].includes(after.get(stream)))
      return missing.length === 0
    }
    await until('each stream is made again', areThere, patienceMs).catch((error: Error) =>
      this.#fail(error, missing),
    )
  }

  async #untilReady(): Promise<void> {
    const { url } = this.#deployment.weir
    let last: unknown
    const isReady = async (): Promise<boolean> => {
      const ready = await readyOf(url)
      last = ready
      return ready.status === 200
    }
    await until('all roles are ready', isReady, patienceMs).catch((error: Error) => this.#fail(error, last))
  }

  async #untilArrived(numbers: readonly number[]): Promise<void> {
    let missing: readonly number[] = []
    const haveArrived = async (): Promise<boolean> => {
      const arrived = await arrivedRecords(this.#deployment)
      missing = numbers.filter((n) => !arrived.has(n))
      return missing.length === 0
    }
    await until('every record arrives', haveArrived, patienceMs).catch((error: Error) =>
      this.#fail(error, missing),
    )
  }

  #fail(error: Error, last: unknown): never {
    const output = this.#deployment.weir.process.output().slice(-4_000)
    throw new Error(`${error.message} ${JSON.stringify(last)} ${output}`)
  }
}
