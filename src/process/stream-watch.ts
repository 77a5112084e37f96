/**
 * Keeps checking the streams that a role needs, and measures them. Each must answer, have a leader with a quorum, and
 * have room. An open connection proves nothing: the server may be frozen, or the cluster without a quorum.
 */

import type { StreamInfo } from '@nats-io/jetstream'
import { now } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Failing } from '../core/health.js'
import type { Occurrences } from '../core/occurrences.js'
import type { Nats } from '../nats/nats.js'
import { quorumProblem } from '../nats/streams.js'
import { Pulse } from './pulse.js'

export interface StreamWatchOptions {
  readonly nats: Nats
  /** Those the role reads or writes. */
  readonly streams: readonly string[]
  readonly occurrences: Occurrences
  /** Creates missing streams, if that is this process' job. */
  readonly makeStreams?: () => Promise<void>
}

/**
 * On a single server, one stream's answer shows that it works, and a stream changes slowly: all of them are looked at only
 * every so many times. In a cluster each stream has servers of its own, and is looked at each time.
 */
const allEvery = 4

export class StreamWatch {
  readonly #options: StreamWatchOptions
  readonly #pulse: Pulse<Failing>
  #looks = 0
  #isCluster = false
  #failing: Failing = {}
  #making: Promise<void> | undefined

  constructor(options: StreamWatchOptions) {
    this.#options = options
    this.#pulse = new Pulse(() => this.#look())
  }

  /** Resolves when all streams have answered for the first time. */
  get first(): Promise<void> {
    return this.#pulse.first
  }

  /** Streams that refuse publishes, each with the reason as a sentence. */
  get failing(): Failing {
    const { answer = {}, lost } = this.#pulse
    return lost === undefined ? answer : { ...answer, nats: `Nothing can be stored: ${lost}.` }
  }

  async #look(): Promise<Failing> {
    const { nats, streams } = this.#options
    if (!nats.isConnected) throw new Error('the connection to NATS is lost')
    this.#looks += 1
    const isFine = Object.keys(this.#failing).length === 0
    if (isFine && !this.#isCluster && this.#looks % allEvery !== 1) {
      if ((await this.#infoOf(streams[0]!)) !== undefined) return this.#failing
    }
    const problems = await Promise.all(
      streams.map(async (name) => [name, await this.#problemOf(name)] as const),
    )
    const failing = problems.filter((each): each is [string, string] => each[1] !== undefined)
    if (failing.some(([, problem]) => problem === missing)) this.#make()
    this.#failing = Object.fromEntries(failing)
    return this.#failing
  }

  async #infoOf(name: string): Promise<StreamInfo | undefined> {
    const info = await this.#options.nats.streamInfo(name).catch((error: unknown) => {
      throw new Error(`JetStream does not answer for ${name} (${messageOf(error)})`)
    })
    // A single server names itself as leader, but no cluster.
    if (info?.cluster?.name) this.#isCluster = true
    return info
  }

  async #problemOf(name: string): Promise<string | undefined> {
    const info = await this.#infoOf(name)
    if (info === undefined) return missing
    this.#measure(name, info)
    const { bytes } = info.state
    const { max_bytes } = info.config
    // The largest message must fit: smaller ones may still be taken.
    const isFull = max_bytes > 0 && bytes + this.#options.nats.payloadBytesMax > max_bytes
    return isFull
      ? `The stream is full (${bytes} of ${max_bytes} bytes): it refuses publishes.`
      : quorumProblem(info)
  }

  #measure(stream: string, { state, config }: StreamInfo): void {
    const { occurrences } = this.#options
    const { bytes, messages, first_ts } = state
    // The age is that by the server's clock and ours, which may differ a little.
    const oldestMs = messages === 0 ? 0 : Math.max(0, now() - Date.parse(first_ts))
    occurrences.streamBytes({ stream }, bytes)
    occurrences.streamBytesMax({ stream }, config.max_bytes)
    occurrences.streamOldest({ stream }, oldestMs / 1000)
    occurrences.streamRetention({ stream }, config.max_age / nanosPerSecond)
  }

  /** Not awaited: the streams are checked meanwhile. */
  #make(): void {
    this.#making ??= this.#options
      .makeStreams?.()
      .catch(() => {})
      .finally(() => {
        this.#making = undefined
      })
  }

  close(): void {
    this.#pulse.close()
  }
}

const nanosPerSecond = 1e9

const missing = 'The stream is missing.'
