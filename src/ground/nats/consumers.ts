/** Pull consumers: durable ones, which share work between processes, and followers, which acknowledge nothing. */
import {
  AckPolicy,
  type Consumer,
  type ConsumerInfo,
  type ConsumerMessages,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  RetentionPolicy,
} from '@nats-io/jetstream'
import { nanos } from '@nats-io/nats-core'
import { sleep } from '../core/clock.js'
import { storedMessage } from './messages.js'
import type { NearServers } from './near-servers.js'
import { isConsumerMissing, isStreamMissing, retried, undefinedIf } from './retry.js'
import { streamIdentity } from './streams.js'

export type { Consumer, ConsumerMessages }

export type FollowedStream = Pick<ConsumerMessages, 'close'>

export interface ConsumerOptions {
  readonly stream: string
  readonly name: string
  readonly filter?: string
  /** The first message of a new consumer; default: with the first message. */
  readonly firstSequence?: number | undefined
  readonly ackWaitMs: number
  readonly ackPendingMax: number
  /**
   * The server deletes it when no one has read it for so long, a current one only if all that it delivered is acknowledged;
   * missing: never.
   */
  readonly deletedAfterMs?: number | undefined
  /**
   * The message with the highest sequence that is known to be done in a run of the stream's sequences. With it, a run is
   * told from the next one even if the server itself put the consumer back together with the stream.
   */
  readonly lastDone?: ((since: string) => Promise<LastDone | undefined>) | undefined
}

export interface LastDone {
  readonly sequence: number
  /** Undefined if it is not known. */
  readonly storedAtMs: number | undefined
}

export interface OpenedConsumer {
  readonly consumer: Consumer
  /** Identifies a run of the stream's sequences: they begin again when the stream is recreated or put back. */
  readonly since: string
  /** Aborted when it has to be opened again, because the server through which it is read is lost. */
  readonly lost?: AbortSignal | undefined
  /** In a cluster: does another server lead it by now? Until it is opened again, it is read through one that does not. */
  readonly hasMoved?: (() => Promise<boolean>) | undefined
}

/** Sequences of the stream. */
export interface ConsumerPosition {
  /** Everything up to here was acknowledged. */
  readonly ackFloor: number
  readonly delivered: number
  /** How many messages are not delivered yet. */
  readonly waiting: number
  /** Messages that are not acknowledged, or not even delivered. */
  readonly unacknowledged: number
  /** The time of the server's clock; undefined before 2.10. */
  readonly serverMs?: number | undefined
}

interface ConsumerState {
  readonly isAhead: boolean
  readonly ackFloor: number
  /** The stream's. */
  readonly identity: string
  /** The run of its sequences. */
  readonly since: string
  readonly isWorkQueue: boolean
  readonly streamLast: number
  readonly replicas: number
}

const aheadDoubtMs = 500

/** The run that the consumer's description names, else that of a stream that was never put back. */
const runOf = ({ config: { description } }: ConsumerInfo, identity: string): string =>
  description?.startsWith(identity) ? description : identity

/** The consumers of a connection. */
export class Consumers {
  readonly #manager: JetStreamManager
  readonly #jetstream: JetStreamClient
  readonly #near: Pick<NearServers, 'opened' | 'to'>

  constructor(
    manager: JetStreamManager,
    jetstream: JetStreamClient,
    near: Pick<NearServers, 'opened' | 'to'>,
  ) {
    this.#manager = manager
    this.#jetstream = jetstream
    this.#near = near
  }

  /**
   * Opens a durable pull consumer with explicit acknowledgement; creates it if it is missing.
   *
   * After a power cut, or when a store was restored, a consumer can be ahead of its stream: it would never deliver new
   * messages whose sequences it has seen. Such a consumer is recreated at the stream's end, as it was when this was
   * noticed: messages may be stored meanwhile. (New ones that were stored before can't be told from old ones and are
   * skipped.) A consumer of a work queue is recreated at its beginning: a work queue allows no other start, and holds
   * little but undelivered messages.
   *
   * A current server puts such a consumer back by itself when it starts, unless the stream has replicas. It then looks
   * like any other, but its next sequences were those of other messages before: `lastDone` shows that.
   */
  async open(options: ConsumerOptions, failed?: (error: unknown) => void): Promise<OpenedConsumer> {
    await this.#makeConsumer(options, failed)
    const state = await this.#consumerState(options)
    if (state.isAhead && !(await this.#isMistaken(options, state))) await this.#remakeConsumer(options, state)
    await this.#beginRunIfPutBack(options, state)
    await this.#near.opened()
    const info = await retried(() => this.#manager.consumers.info(options.stream, options.name))
    const leader = info.cluster?.leader
    const { jetstream, lost } = this.#near.to(leader)
    const hasMoved = async (): Promise<boolean> => {
      const { cluster } = await this.#manager.consumers.info(options.stream, options.name)
      return cluster?.leader !== undefined && cluster.leader !== leader
    }
    return {
      consumer: jetstream.consumers.getConsumerFromInfo(info),
      since: runOf(info, state.identity),
      lost,
      hasMoved: leader === undefined ? undefined : hasMoved,
    }
  }

  async #beginRunIfPutBack(options: ConsumerOptions, state: ConsumerState): Promise<void> {
    const { stream, name, lastDone } = options
    if (lastDone === undefined) return
    // More than once if a consumer that was deleted does not know which runs there were.
    for (;;) {
      const since = runOf(await retried(() => this.#manager.consumers.info(stream, name)), state.identity)
      const last = await lastDone(since)
      if (last === undefined || (await this.#hasMessage(stream, last))) return
      if (state.replicas > 1) {
        await sleep(aheadDoubtMs)
        if (await this.#hasMessage(stream, last)) return
      }
      // Processes that notice it at the same time give the run the same name.
      const description = `${state.identity} ${last.sequence}.${last.storedAtMs ?? ''}`
      await retried(() => this.#manager.consumers.update(stream, name, { description }))
    }
  }

  /** Is it the same message? One that was removed may be: the oldest ones are. */
  async #hasMessage(stream: string, { sequence, storedAtMs }: LastDone): Promise<boolean> {
    const { state } = await retried(() => this.#manager.streams.info(stream))
    if (sequence > state.last_seq) return false
    const message = await storedMessage(() => this.#manager.streams.getMessage(stream, { seq: sequence }))
    return message === undefined || storedAtMs === undefined || message.storedAtMs === storedAtMs
  }

  /** With replicas, one look can be wrong: the leaders of stream and consumer can be different servers. */
  async #isMistaken(options: ConsumerOptions, { replicas }: ConsumerState): Promise<boolean> {
    if (replicas === 1) return false
    await sleep(aheadDoubtMs)
    return !(await this.#consumerState(options)).isAhead
  }

  async #makeConsumer(
    options: ConsumerOptions,
    failed?: (error: unknown) => void,
    from?: { sequence: number; since: string },
  ): Promise<void> {
    const config = {
      durable_name: options.name,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(options.ackWaitMs),
      max_ack_pending: options.ackPendingMax,
      max_deliver: -1,
      ...(options.filter === undefined ? {} : { filter_subject: options.filter }),
      inactive_threshold: nanos(options.deletedAfterMs ?? 0),
    }
    const first = from?.sequence ?? options.firstSequence
    const start = {
      ...(from !== undefined && { description: from.since }),
      ...(first !== undefined && { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: first }),
    }
    const make = async (): Promise<void> => {
      try {
        const known = (await this.#manager.consumers.info(options.stream, options.name)).config
        const { ack_wait, max_ack_pending, inactive_threshold } = config
        const isSame =
          known.ack_wait === ack_wait &&
          known.max_ack_pending === max_ack_pending &&
          (known.inactive_threshold ?? 0) === inactive_threshold
        const changed = { ack_wait, max_ack_pending, inactive_threshold }
        if (!isSame) await this.#manager.consumers.update(options.stream, options.name, changed)
      } catch (error) {
        if (!isConsumerMissing(error) || isStreamMissing(error)) throw error
        await this.#manager.consumers.add(options.stream, { ...config, ...start })
      }
    }
    await retried(make, { failed })
  }

  async #consumerState({ stream, name }: ConsumerOptions): Promise<ConsumerState> {
    // In this order, so that a delivery in between does not make the consumer look ahead.
    const consumer = await retried(() => this.#manager.consumers.info(stream, name))
    const info = await retried(() => this.#manager.streams.info(stream))
    const { last_seq } = info.state
    const identity = streamIdentity(info)
    return {
      isAhead: consumer.delivered.stream_seq > last_seq,
      ackFloor: consumer.ack_floor.stream_seq,
      identity,
      since: runOf(consumer, identity),
      isWorkQueue: info.config.retention === RetentionPolicy.Workqueue,
      streamLast: last_seq,
      replicas: info.config.num_replicas,
    }
  }

  async #remakeConsumer(options: ConsumerOptions, state: ConsumerState): Promise<void> {
    const sequence = Math.min(state.ackFloor, state.streamLast) + 1
    const since = options.lastDone === undefined ? `${state.identity} ${sequence}` : state.since
    const from = { sequence, since }
    await this.delete(options.stream, options.name)
    await this.#makeConsumer(options, undefined, state.isWorkQueue ? undefined : from)
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
    const messages = await consumer.consume({
      callback: (message) => onMessage({ sequence: message.seq, data: message.data }),
    })
    const close = async () => {
      const error = await messages.close()
      // Not awaited: a server that can't be reached deletes an unused consumer itself, after some minutes.
      consumer.delete().catch(() => {})
      return error
    }
    return { close }
  }

  async position(stream: string, name: string): Promise<ConsumerPosition | undefined> {
    const info = await undefinedIf(isConsumerMissing, () =>
      retried(() => this.#manager.consumers.info(stream, name), { triesMax: 3 }),
    )
    if (info === undefined) return undefined
    const { ack_floor, delivered, num_pending, num_ack_pending } = info
    const unacknowledged = num_pending + num_ack_pending
    return {
      ackFloor: ack_floor.stream_seq,
      delivered: delivered.stream_seq,
      waiting: num_pending,
      unacknowledged,
      serverMs: serverTimeIn(info),
    }
  }

  /** The server deletes it from now on when no one has read it for so long, unless it does so already. */
  async expire(stream: string, name: string, unreadMs: number): Promise<void> {
    await undefinedIf(isConsumerMissing, async () => {
      const { config } = await this.#manager.consumers.info(stream, name)
      const inactive_threshold = nanos(unreadMs)
      if (!config.inactive_threshold)
        await this.#manager.consumers.update(stream, name, { inactive_threshold })
    })
  }

  async delete(stream: string, name: string): Promise<void> {
    await undefinedIf(isConsumerMissing, () => this.#manager.consumers.delete(stream, name))
  }
}

/** The library's type does not have it. */
function serverTimeIn(info: object): number | undefined {
  const { ts } = info as { readonly ts?: unknown }
  const ms = typeof ts === 'string' ? Date.parse(ts) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
