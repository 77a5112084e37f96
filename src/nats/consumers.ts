/** Pull consumers: durable ones, which share work between processes, and followers, which acknowledge nothing. */
import {
  AckPolicy,
  type Consumer,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/nats-core'
import { sleep } from '../core/clock.js'
import { isConsumerMissing, isStreamMissing, retried, undefinedIf } from './retry.js'
import { streamIdentity } from './streams.js'

export type { Consumer, ConsumerMessages }

export type FollowedStream = Pick<ConsumerMessages, 'close'>

export interface ConsumerOptions {
  readonly stream: string
  readonly name: string
  readonly filter?: string
  /** Where a new consumer begins; default: with the first message. */
  readonly firstSequence?: number | undefined
  readonly ackWaitMs: number
  readonly ackPendingMax: number
}

export interface OpenedConsumer {
  readonly consumer: Consumer
  /** Identifies a run of the stream's sequences: they begin again when the stream is recreated. */
  readonly since: string
}

/** Sequences of the stream. */
export interface ConsumerPosition {
  /** Everything up to here was acknowledged. */
  readonly ackFloor: number
  readonly delivered: number
  /** Messages that are not acknowledged, or not even delivered. */
  readonly unacknowledged: number
}

interface ConsumerState {
  readonly isAhead: boolean
  readonly ackFloor: number
  /** The stream's. */
  readonly identity: string
  readonly isWorkQueue: boolean
  readonly streamLast: number
  readonly replicas: number
}

const aheadDoubtMs = 500

/** The consumers of a connection. */
export class Consumers {
  readonly #manager: JetStreamManager
  readonly #jetstream: JetStreamClient

  constructor(manager: JetStreamManager, jetstream: JetStreamClient) {
    this.#manager = manager
    this.#jetstream = jetstream
  }

  /**
   * Opens a durable pull consumer with explicit acknowledgement; creates it if it is missing.
   *
   * After a power cut, or when a store was restored, a consumer can be ahead of its stream: it would never deliver new
   * messages whose sequences it has seen. Such a consumer is recreated at the stream's end, as it was when this was
   * noticed: messages may be stored meanwhile. (New ones that were stored before can't be told from old ones and are
   * skipped.) A consumer of a work queue is recreated at its beginning: a work queue allows no other start, and holds
   * little but undelivered messages.
   */
  async open(options: ConsumerOptions): Promise<OpenedConsumer> {
    await this.#makeConsumer(options)
    const state = await this.#consumerState(options)
    if (state.isAhead && !(await this.#isMistaken(options, state))) await this.#remakeConsumer(options, state)
    const consumer = await retried(() => this.#jetstream.consumers.get(options.stream, options.name))
    const { description } = (await consumer.info(true)).config
    const { identity } = state
    return { consumer, since: description?.startsWith(identity) ? description : identity }
  }

  /** With replicas, one look can be wrong: the leaders of stream and consumer can be different servers. */
  async #isMistaken(options: ConsumerOptions, { replicas }: ConsumerState): Promise<boolean> {
    if (replicas === 1) return false
    await sleep(aheadDoubtMs)
    return !(await this.#consumerState(options)).isAhead
  }

  async #makeConsumer(options: ConsumerOptions, from?: { sequence: number; since: string }): Promise<void> {
    const config = {
      durable_name: options.name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(options.ackWaitMs),
      max_ack_pending: options.ackPendingMax,
      max_deliver: -1,
      ...(options.filter === undefined ? {} : { filter_subject: options.filter }),
    }
    const first = from?.sequence ?? options.firstSequence
    const start = {
      ...(from !== undefined && { description: from.since }),
      ...(first !== undefined && { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: first }),
    }
    await retried(async () => {
      try {
        const known = (await this.#manager.consumers.info(options.stream, options.name)).config
        const { ack_wait, max_ack_pending } = config
        if (known.ack_wait !== ack_wait || known.max_ack_pending !== max_ack_pending)
          await this.#manager.consumers.update(options.stream, options.name, { ack_wait, max_ack_pending })
      } catch (error) {
        if (!isConsumerMissing(error) || isStreamMissing(error)) throw error
        await this.#manager.consumers.add(options.stream, { ...config, ...start })
      }
    })
  }

  async #consumerState({ stream, name }: ConsumerOptions): Promise<ConsumerState> {
    // In this order, so that a delivery in between does not make the consumer look ahead.
    const consumer = await retried(() => this.#manager.consumers.info(stream, name))
    const info = await retried(() => this.#manager.streams.info(stream))
    const { last_seq } = info.state
    return {
      isAhead: consumer.delivered.stream_seq > last_seq,
      ackFloor: consumer.ack_floor.stream_seq,
      identity: streamIdentity(info),
      isWorkQueue: info.config.retention === RetentionPolicy.Workqueue,
      streamLast: last_seq,
      replicas: info.config.num_replicas,
    }
  }

  async #remakeConsumer(options: ConsumerOptions, state: ConsumerState): Promise<void> {
    const sequence = Math.min(state.ackFloor, state.streamLast) + 1
    const from = { sequence, since: `${state.identity} ${sequence}` }
    await this.delete(options.stream, options.name)
    await this.#makeConsumer(options, state.isWorkQueue ? undefined : from)
  }

  /** Each message of a subject from `sequence` on, in order, until closed. Nothing is acknowledged. */
  async follow(
    stream: string,
    subject: string,
    sequence: number,
    onMessage: (message: { sequence: number; data: Uint8Array }) => void,
  ): Promise<FollowedStream> {
    const consumer = await retried(() =>
      this.#jetstream.consumers.get(stream, {
        filter_subjects: subject,
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: sequence,
      }),
    )
    return consumer.consume({
      callback: (message) => onMessage({ sequence: message.seq, data: message.data }),
    })
  }

  async position(stream: string, name: string): Promise<ConsumerPosition | undefined> {
    const info = await undefinedIf(isConsumerMissing, () =>
      retried(() => this.#manager.consumers.info(stream, name), { triesMax: 3 }),
    )
    if (info === undefined) return undefined
    const { ack_floor, delivered, num_pending, num_ack_pending } = info
    const unacknowledged = num_pending + num_ack_pending
    return { ackFloor: ack_floor.stream_seq, delivered: delivered.stream_seq, unacknowledged }
  }

  async delete(stream: string, name: string): Promise<void> {
    await undefinedIf(isConsumerMissing, () => this.#manager.consumers.delete(stream, name))
  }
}
