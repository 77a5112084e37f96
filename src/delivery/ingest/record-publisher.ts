/**
 * Publishes records as an ingress node does: in messages of a hundred, or of what came in 200 ms, each with an id, so that
 * a repeated publish stores it once. Whoever adds records waits while much is under way, and knows when they are stored.
 */
import { after, type Timer } from '../../ground/core/clock.js'
import { hash128 } from '../../ground/core/ids.js'

interface PublisherOptions {
  /** Resolves when the message is stored. */
  readonly publish: (message: string, id: string) => Promise<unknown>
  readonly messageBytesMax: number
}

const recordsPerMessage = 100
const waitMaxMs = 200
const messagesUnderWay = 16

export class RecordPublisher {
  readonly #options: PublisherOptions
  #records: string[] = []
  #stored: (() => void)[] = []
  #bytes = 0
  #timer: Timer | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  /** Resolves when all messages so far are stored, in their order. */
  #all: Promise<unknown> = Promise.resolve()
  #failure: unknown

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * `stored` is called once this record and all before it are stored. If there is no room for more, the result resolves when
   * there is; that is not for every record, because a promise costs as much as reading a line. Rejects or throws if
   * something can't be stored.
   */
  add(record: string, stored: () => void): Promise<void> | undefined {
    const bytes = Buffer.byteLength(record) + 1
    if (this.#bytes + bytes > this.#options.messageBytesMax) this.#send()
    this.#records.push(record)
    this.#stored.push(stored)
    this.#bytes += bytes
    if (this.#records.length === recordsPerMessage) this.#send()
    else this.#timer ??= after(waitMaxMs, () => this.#send())
    this.#throwFailure()
    return this.#underWay.size < messagesUnderWay ? undefined : this.#room()
  }

  async #room(): Promise<void> {
    while (this.#underWay.size >= messagesUnderWay) await Promise.race(this.#underWay)
    this.#throwFailure()
  }

  /** Calls back once all records before are stored. */
  after(stored: () => void): void {
    if (this.#records.length > 0) this.#stored.push(stored)
    else void this.#all.then(() => this.#failure === undefined && stored())
  }

  /** Resolves when all is stored. */
  async flush(): Promise<void> {
    this.#send()
    await this.#all
    this.#throwFailure()
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  #send(): void {
    this.#timer?.stop()
    this.#timer = undefined
    if (this.#records.length === 0) return
    const message = this.#records.join('\n')
    const stored = this.#stored
    this.#records = []
    this.#stored = []
    this.#bytes = 0
    const sent = this.#options.publish(message, hash128(message)).catch((error: unknown) => {
      this.#failure ??= error
    })
    const over = sent.finally(() => this.#underWay.delete(over))
    this.#underWay.add(over)
    this.#all = Promise.all([this.#all, sent]).then(() => {
      if (this.#failure === undefined) for (const call of stored) call()
    })
  }
}
