/** Looks at the streams now and then: one that is full or missing is told by `readyz`. */
import { every, type Timer } from '../core/clock.js'
import type { Nats } from '../core/nats.js'
import { trafficStreams } from './streams.js'

const lookEveryMs = 2_000

export interface StreamWatchOptions {
  readonly nats: Nats
  /** Makes streams that are missing, where this process is the one to do so. */
  readonly makeStreams?: () => Promise<void>
}

export class StreamWatch {
  readonly #options: StreamWatchOptions
  readonly #timer: Timer
  #failing: Readonly<Record<string, string>> = {}

  constructor(options: StreamWatchOptions) {
    this.#options = options
    this.#timer = every(lookEveryMs, () => this.#look())
  }

  /** Streams that don't take what is published, each with a sentence that says why. */
  get failing(): Readonly<Record<string, string>> {
    return this.#failing
  }

  async #look(): Promise<void> {
    try {
      const problems = await Promise.all(
        trafficStreams.map(async (name) => [name, await this.#problemOf(name)] as const),
      )
      this.#failing = Object.fromEntries(problems.filter(([, problem]) => problem !== undefined)) as Record<
        string,
        string
      >
      const isMissing = Object.values(this.#failing).includes(missing)
      if (isMissing) await this.#options.makeStreams?.()
    } catch {
      // NATS is away, and told as such.
    }
  }

  async #problemOf(name: string): Promise<string | undefined> {
    const info = await this.#options.nats.streamInfo(name)
    if (info === undefined) return missing
    const { bytes } = info.state
    const { max_bytes } = info.config
    // The largest message must fit: smaller ones may still be taken.
    if (bytes + this.#options.nats.payloadBytesMax <= max_bytes) return undefined
    return `The stream is full (${bytes} of ${max_bytes} bytes): what is published to it is refused.`
  }

  close(): void {
    this.#timer.stop()
  }
}

const missing = 'The stream is missing.'
