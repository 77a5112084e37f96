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
import type { Consumer, ConsumerOptions } from './consumers.js'
import type { Nats } from './nats.js'
import type { PulledMessage } from './pulled-message.js'

/** The members of a message in flight that identify it. */
interface Identified {
  readonly sequence: number
  /** The run of the stream's sequences that `sequence` belongs to. */
  readonly since: string
  /** With sequence and run, equal for the same message only. */
  readonly identity: string | number
}

/** The messages that a reader acknowledged. */
interface Acknowledged {
  identityOf(message: PulledMessage): string | number
  has(message: Pick<Identified, 'sequence' | 'identity'>): boolean
  /** It may be of an earlier run. */
  add(message: Identified): void
  /** From here on, messages are of this run: the stream assigns its sequences again. */
  beginRun(since: string): void
}

/**
 * Acknowledged messages among the last `sequencesMax` of the stream, by sequence and time: within one run, a restored
 * stream assigns its sequences again. A message takes 16 bytes and is no object: there may be 20,000 a second.
 */
export class AcknowledgedSequences implements Acknowledged {
  /** Sequences begin with 1, so an empty place has none. */
  readonly #sequences: Float64Array
  readonly #storedAtMs: Float64Array
  #since = ''

  constructor(sequencesMax: number) {
    this.#sequences = new Float64Array(sequencesMax)
    this.#storedAtMs = new Float64Array(sequencesMax)
  }

  identityOf({ storedAtMs }: Pick<PulledMessage, 'storedAtMs'>): number {
    return storedAtMs
  }

  has({ sequence, identity }: Pick<Identified, 'sequence' | 'identity'>): boolean {
    const place = sequence % this.#sequences.length
    return this.#sequences[place] === sequence && this.#storedAtMs[place] === identity
  }

  /** Not one of an earlier run: its sequence may be another message's by now. */
  add({ sequence, since, identity }: Identified): void {
    if (since !== this.#since) return
    const place = sequence % this.#sequences.length
    this.#sequences[place] = sequence
    this.#storedAtMs[place] = Number(identity)
  }

  beginRun(since: string): void {
    this.#since = since
    this.#sequences.fill(0)
  }
}

/** The last `max` messages by what they hold: one that was published twice is known again, in whatever run. */
export class AcknowledgedContents implements Acknowledged {
  readonly #max: number
  readonly #contentsOf: (message: PulledMessage) => string
  /** The oldest is the first. */
  readonly #known = new Set<string | number>()

  constructor(max: number, contentsOf: (message: PulledMessage) => string) {
    this.#max = max
    this.#contentsOf = contentsOf
  }

  identityOf(message: PulledMessage): string {
    return this.#contentsOf(message)
  }

  has({ identity }: Pick<Identified, 'identity'>): boolean {
    return this.#known.has(identity)
  }

  add({ identity }: Pick<Identified, 'identity'>): void {
    this.#known.add(identity)
    if (this.#known.size > this.#max) this.#known.delete(this.#known.values().next().value!)
  }

  beginRun(): void {}
}

/** Messages held by a process that died are redelivered after this time. */
const ackWaitMs = 10_000
const reopenPauseMs = 500
/** About as long as it takes to open the consumer again. */
const interruptedPauseMs = 300
/** Servers of a cluster hand consumers to each other without a word to those who read them. */
const leaderLookMsDefault = 60_000

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
  /** How often to look which server of a cluster leads the consumer. */
  readonly leaderLookMs?: number
}

export class DurableReader {
  readonly #options: DurableReaderOptions
  #stop = new AbortController()
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

  /** Are all messages that it took acknowledged, or given back? */
  get isIdle(): boolean {
    return this.#inFlight.size === 0
  }

  /** Also again, after `stop`. */
  open(): void {
    if (this.#stop.signal.aborted) this.#stop = new AbortController()
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
    const { consumer, since, lost, hasMoved } = await nats.openConsumer({ ...options, ackWaitMs })
    // In a new run of sequences, an acknowledgement of the last run could hit another message.
    if (since !== this.#since) {
      this.#inFlight.clear()
      acknowledged.beginRun(since)
    }
    this.#since = since
    const ends = [this.#stop.signal, this.#session.signal, ...(lost === undefined ? [] : [lost])]
    const look = hasMoved && this.#lookFor(hasMoved, this.#session)
    try {
      await pull(consumer, AbortSignal.any(ends))
    } finally {
      look?.stop()
    }
  }

  /** Ends a session whose consumer is led by another server than when it was opened. */
  #lookFor(hasMoved: () => Promise<boolean>, session: AbortController): Timer {
    return every(this.#options.leaderLookMs ?? leaderLookMsDefault, async () => {
      // One that can't be asked for is looked for again.
      if (await hasMoved().catch(() => false)) session.abort()
    })
  }

  /**
   * Puts a message in flight; undefined if it was redelivered although it is in flight or acknowledged, or is refused: it comes
   * again.
   */
  begin(message: PulledMessage): MessageInFlight | undefined {
    const { sequence, reply } = message
    if (this.#isInterrupted) {
      // Without a pause it would come again, and again, until the request that brings it has ended.
      this.#options.nats.acknowledgements.again(reply, interruptedPauseMs)
      return undefined
    }
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

  /**
   * A request that the library sent as soon as it was connected again may bring messages of another run before this reader knows
   * of that run: they would count as the messages that had their sequences before.
   */
  get #isInterrupted(): boolean {
    return this.#session.signal.aborted && !this.#stop.signal.aborted
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
