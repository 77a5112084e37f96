/**
 * Publishes messages that are not Weir's own, to subjects that others chose: each message is confirmed, or has a refusal
 * that says why not. Nothing is retried.
 */
import { type JetStreamClient, jetstream } from '@nats-io/jetstream'
import { errors, headers, type NatsConnection } from '@nats-io/nats-core'
import { yieldTurn } from '../core/clock.js'
import { messageIdHeader } from './messages.js'
import { type Refusal, refusal, refusalOf } from './refusals.js'

export interface OutgoingMessage {
  /** A stream stores a message with the same id once within its duplicate window. */
  readonly id: string
  readonly data: Uint8Array
}

/** The error of each message: undefined if it is confirmed. */
export type Refusals = readonly (Refusal | undefined)[]

export class ConfirmedPublisher {
  readonly #connection: NatsConnection
  readonly #jetstream: JetStreamClient
  /** By each subject that was used, the last time that the server refused a message for it. */
  readonly #denied = new Map<string, Refusal | undefined>()
  #isWatched = false

  constructor(connection: NatsConnection) {
    this.#connection = connection
    this.#jetstream = jetstream(connection)
  }

  /** The largest message that the server takes, headers included. */
  get payloadBytesMax(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024
  }

  /** Confirmed by the stream that stored the message. */
  store(subject: string, messages: readonly OutgoingMessage[], timeout: number): Promise<Refusals> {
    return Promise.all(
      messages.map(async ({ id, data }) => {
        try {
          const { stream } = await this.#jetstream.publish(subject, data, { msgID: id, timeout })
          return typeof stream === 'string' ? undefined : refusal('NoStream', 'Another program answered.')
        } catch (error) {
          return refusalOf(error)
        }
      }),
    )
  }

  /** Confirmed by the server, for those who listen now. Rejects if it can't be asked. */
  async tell(subject: string, messages: readonly OutgoingMessage[]): Promise<Refusals> {
    this.#watch()
    const deniedBefore = this.#denied.get(subject)
    this.#denied.set(subject, deniedBefore)
    const refused = messages.map((message) => this.#publish(subject, message))
    await this.#connection.flush()
    // Errors that the server sent before its answer are still on their way to the watcher.
    await yieldTurn()
    const denied = this.#denied.get(subject)
    return refused.map((each) => each ?? (denied === deniedBefore ? undefined : denied))
  }

  #publish(subject: string, { id, data }: OutgoingMessage): Refusal | undefined {
    const named = headers()
    named.set(messageIdHeader, id)
    try {
      this.#connection.publish(subject, data, { headers: named })
      return undefined
    } catch (error) {
      return refusalOf(error)
    }
  }

  #watch(): void {
    if (this.#isWatched) return
    this.#isWatched = true
    // The iterator ends with the connection.
    this.#noteDenials().catch(() => {})
  }

  async #noteDenials(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type !== 'error' || !(status.error instanceof errors.PermissionViolationError)) continue
      const { operation, subject } = status.error
      if (operation === 'publish' && this.#denied.has(subject))
        this.#denied.set(subject, refusalOf(status.error))
    }
  }
}
