/**
 * Evidence from publishes and requests of whether NATS stores.
 *
 * A stream of one server that met an error of its disk is out of service until the server starts again (nats-server 2.15):
 * publishers get no answer, and `STREAM.INFO` is as ever. Every change of such a stream fails with the error that it keeps,
 * also one that changes nothing: the removal of a message that was never stored.
 */
import { type JetStreamAccountStats, JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import { errors, type NatsConnection } from '@nats-io/nats-core'
import { monotonicMs } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { RepeatedFailures } from './failures.js'
import {
  isMessageMissing,
  isOtherStream,
  isStreamMissing,
  isUnavailable,
  isWrongRevision,
  type Patience,
  undefinedIf,
} from './retry.js'
import { newStreamIdentity, type StreamOptions, streamConfig } from './streams.js'

/** No stream has so many messages. */
const neverStored = Number.MAX_SAFE_INTEGER

/** May this user not do it? Its permissions are then of an earlier version. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof errors.PermissionViolationError ||
  (error instanceof Error && error.cause !== undefined && isForbidden(error.cause))

/** Whether NATS stores, as one connection sees it. */
export class Storing {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #replicas: number
  /** By the head of the subject: those of a destination's packs are as many as destinations. */
  readonly #failures = new RepeatedFailures()
  #storedMs = Number.NEGATIVE_INFINITY

  constructor(connection: NatsConnection, manager: JetStreamManager, replicas: number) {
    this.#connection = connection
    this.#manager = manager
    this.#replicas = replicas
  }

  /** The result of a publish, of which it notes how it went. */
  async noted<T>(subject: string, patience: Patience, publish: (noted: Patience) => Promise<T>): Promise<T> {
    const failed = (error: unknown): void => {
      this.#failed(headOf(subject), error)
      patience.failed?.(error)
    }
    const stored = await publish({ ...patience, failed })
    this.#storedMs = monotonicMs()
    this.#failures.succeeded(headOf(subject))
    return stored
  }

  #failed(head: string, error: unknown): void {
    // The stream is there, and has another message than was expected.
    if (!isWrongRevision(error) && !isOtherStream(error)) this.#failures.failed(head, error)
  }

  /** Was anything stored so short ago? */
  hasStored(withinMs: number): boolean {
    return monotonicMs() - this.#storedMs < withinMs
  }

  /** Heads of subjects on which nothing is stored now, each with the last error and what to do. */
  get failing(): ReadonlyMap<string, string> {
    return this.#failures.current
  }

  /**
   * Why the stream takes no change, in the words of the server; undefined if it takes some. Only for streams without
   * replicas.
   */
  async faultOf(stream: string): Promise<string | undefined> {
    try {
      await this.#manager.streams.deleteMessage(stream, neverStored, false)
      return undefined
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error
      const isInService = isMessageMissing(error) || isStreamMissing(error) || isUnavailable(error)
      return isInService ? undefined : messageOf(error)
    }
  }

  /** Makes a stream again that holds nothing worth keeping. */
  async remake(options: StreamOptions): Promise<void> {
    await undefinedIf(isStreamMissing, () => this.#manager.streams.delete(options.name))
    await this.make(options)
  }

  /** Without another try. */
  async make(options: StreamOptions): Promise<void> {
    const config = streamConfig(options, this.#replicas, this.#connection.info)
    await this.#manager.streams.add({ ...config, description: newStreamIdentity() })
  }

  /** The account's use of JetStream, and its limits. */
  account(): Promise<JetStreamAccountStats> {
    return this.#manager.getAccountInfo()
  }

  /** The version of the server that this process is connected to. */
  get version(): string {
    return this.#connection.info?.version ?? ''
  }

  /** The address of the server that this process is connected to. */
  get server(): string {
    return this.#connection.getServer()
  }
}

const headTokens = 2

/** The part of a subject that it shares with all of its purpose. */
export const headOf = (subject: string): string => subject.split('.', headTokens).join('.')
