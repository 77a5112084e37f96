/**
 * Reads a durable consumer that several processes share: open ▸ pull ▸ in flight ▸ acknowledged or given back.
 *
 * The consumer is opened again after each fault and each reconnect, because a server that comes back may have another
 * stream, or one restored from a backup. Messages in flight stay ours by progress signals. A restored stream assigns
 * its sequences again, so a message is known by its identity: only a message that is still ours is acknowledged, and
 * one that was acknowledged here and is redelivered, because its acknowledgement was lost, is only acknowledged again.
 *
 * The owner pulls and decides what happens to a message; it calls `begin`, then `acknowledge` or `giveBack`.
 */
import { every, sleep, type Timer } from '../core/clock.js'
import type { Acknowledged, Identified } from './acknowledged.js'
import type { Consumer, ConsumerOptions } from './consumers.js'
import type { PulledMessage } from './messages.js'
import type { Nats } from './nats.js'

/** Messages held by a process that died are redelivered after this time. */
const ackWaitMs = 10_000
const reopenPauseMs = 500

/** A message that is being worked on. */
export interface MessageInFlight extends Identified {
  /** The subject for the acknowledgement of its last delivery. The message itself is not kept: it is much larger. */
  readonly reply: string
}

export interface DurableReaderOptions {
  readonly nats: Pick<Nats, 'openConsumer' | 'acknowledgements' | 'onReconnect'>
  readonly consumer: Omit<ConsumerOptions, 'ackWaitMs'>
  readonly acknowledged: Acknowledged
  /** Pulls until the signal; called whenever the consumer was opened. */
  readonly pull: (consumer: Consumer, signal: AbortSignal) => Promise<void>
  /** Reports why nothing can be pulled; it is retried. */
  readonly unavailable: (error: unknown) => void
  /** Reports that a stop gave back this many messages, or could not confirm the last acknowledgements. */
  readonly stoppedEarly: (messages: number) => void
}

export class DurableReader {
  readonly #options: DurableReaderOptions
  readonly #stop = new AbortController()
  readonly #progress: Timer
  readonly #stopListening: () => void
  /** By sequence. */
  readonly #inFlight = new Map<number, { -readonly [K in keyof MessageInFlight]: MessageInFlight[K] }>()
  /** The reply of the message that was acknowledged last. */
  #acknowledgedLast: string | undefined
  #since = ''
  #session = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(options: DurableReaderOptions) {
    this.#options = options
    this.#progress = every(ackWaitMs / 3, () => {
      for (const { reply } of this.#inFlight.values()) options.nats.acknowledgements.working(reply)
    })
    this.#stopListening = options.nats.onReconnect(() => this.#session.abort())
  }

  /** Aborted when the reader stops. */
  get stopping(): AbortSignal {
    return this.#stop.signal
  }

  open(): void {
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.#runSession()
      } catch (error) {
        if (signal.aborted) return
        this.#options.unavailable(error)
        await sleep(reopenPauseMs, signal)
      }
    }
  }

  async #runSession(): Promise<void> {
    this.#session = new AbortController()
    const { nats, consumer: options, pull, acknowledged } = this.#options
    const { consumer, since } = await nats.openConsumer({ ...options, ackWaitMs })
    // In a new run of sequences, an acknowledgement of the last run could hit another message.
    if (since !== this.#since) {
      this.#inFlight.clear()
      acknowledged.beginRun(since)
    }
    this.#since = since
    await pull(consumer, AbortSignal.any([this.#stop.signal, this.#session.signal]))
  }

  /** Puts a message in flight; undefined if it was redelivered although it is in flight or acknowledged. */
  begin(message: PulledMessage): MessageInFlight | undefined {
    const { sequence, reply } = message
    const { acknowledged } = this.#options
    const identity = acknowledged.identityOf(message)
    if (acknowledged.has({ sequence, identity })) {
      this.#acknowledge(reply)
      return undefined
    }
    const known = this.#inFlight.get(sequence)
    if (known?.identity === identity) {
      known.reply = reply
      return undefined
    }
    const inFlight = { sequence, since: this.#since, identity, reply }
    this.#inFlight.set(sequence, inFlight)
    return inFlight
  }

  /** Everything that the message caused is stored. */
  acknowledge(inFlight: MessageInFlight): void {
    this.#options.acknowledged.add(inFlight)
    if (this.#end(inFlight)) this.#acknowledge(inFlight.reply)
  }

  /** The message is redelivered, to any process, after `delayMs`. */
  giveBack(inFlight: MessageInFlight, delayMs: number): void {
    if (this.#end(inFlight)) this.#options.nats.acknowledgements.again(inFlight.reply, delayMs)
  }

  /** False if the message is not ours any more: its sequence may belong to another message by now. */
  #end(inFlight: MessageInFlight): boolean {
    const { sequence } = inFlight
    return this.#inFlight.get(sequence) === inFlight && this.#inFlight.delete(sequence)
  }

  /** A message that was pulled and not begun is redelivered at once, to any process. */
  refuse({ reply }: PulledMessage): void {
    this.#options.nats.acknowledgements.again(reply)
  }

  #acknowledge(reply: string): void {
    this.#options.nats.acknowledgements.done(reply)
    this.#acknowledgedLast = reply
  }

  /** Ends pulling; resolves when the owner has taken what was asked for. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  /** After `stop`: gives back what is still in flight, and waits until the server has the last acknowledgement. */
  async close(): Promise<void> {
    const { nats, stoppedEarly } = this.#options
    for (const { reply } of this.#inFlight.values()) nats.acknowledgements.again(reply)
    const last = this.#acknowledgedLast
    const isConfirmed = last === undefined || (await nats.acknowledgements.confirm(last))
    if (this.#inFlight.size > 0 || !isConfirmed) stoppedEarly(this.#inFlight.size)
    this.#stopListening()
    this.#progress.stop()
  }
}
