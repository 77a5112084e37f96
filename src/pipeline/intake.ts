/**
 * The way of an input message, whatever it holds:
 *
 *     pull ▸ process ▸ packs stored ▸ ledger ▸ acknowledged
 *
 * Several processes share one durable consumer. A message is acknowledged when everything it caused is stored; one
 * that is delivered again while it is in hand, or after its acknowledgement was lost, is not processed twice. One
 * whose processing fails is given back, and done again from its start.
 */

import type { InputCounts, InputStream, LedgerWriter } from '../books/ledger.js'
import { after, every, sleep, type Timer } from '../core/clock.js'
import { prefetchBytesTarget, prefetchMessagesMax } from '../core/limits.js'
import { Recent } from '../core/recent.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { pullAll } from '../nats/pull.js'
import { inputConsumer } from '../wire/names.js'
import { InputLedger } from './input-ledger.js'
import { type InputMessage, Packs } from './packs.js'

/** What a process held that died is delivered again after this. */
const ackWaitMs = 10_000
/** Those acknowledged last, whose acknowledgement may be lost. */
const endedKept = 20_000
const dueCheckMs = 20
const restartPauseMs = 500
const failedMessagePauseMs = 1_000
/**
 * A stop: for the messages that were asked for, for storing what they caused, for the ledger. Reached only by a NATS
 * that is very slow; a message given back then is processed again, and its events may arrive twice.
 */
const stopPullWithinMs = 3_000
const stopStoreWithinMs = 8_000
const stopLedgerWithinMs = 5_000
/** While NATS is away, nothing can be stored. */
const stopWithoutNatsMs = 500

/** What became of a message, once everything it caused is on its way into packs. */
export interface Processed {
  readonly counts: InputCounts
  /** Called when the message is acknowledged. */
  readonly acknowledged?: () => void
}

export interface IntakeOptions {
  readonly nats: Nats
  readonly ledger: LedgerWriter
  /** Of JetStream. */
  readonly stream: string
  /** The same, as the books call it. */
  readonly input: InputStream
  /** Messages that all processes together may have in hand. */
  readonly ackPendingMax: number
  /** Puts the message's events into `packs`, as those of `input`. */
  readonly process: (message: PulledMessage, input: InputMessage) => Promise<Processed>
  /** Hears why nothing can be pulled; it is tried again. */
  readonly unavailable: (error: unknown) => void
  /** Hears why a message, or a pack where none is named, was not stored; it is tried again. */
  readonly unstored: (error: unknown, sequence?: number) => void
  /** Hears that a stop gave back this many messages, or could not confirm that the last ones are acknowledged. */
  readonly stoppedEarly: (messages: number) => void
}

interface InHand extends InputMessage {
  readonly storedAtMs: number
  /** As it was delivered last. */
  native: PulledMessage['native']
  /** Set when the message is processed; taken when it is done. */
  processed: Processed | undefined
}

export class Intake {
  readonly packs: Packs
  readonly #options: IntakeOptions
  readonly #ledger: InputLedger
  readonly #stop = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #timers: readonly Timer[]
  #inHand = new Map<number, InHand>()
  /** Messages of this run that were acknowledged here. */
  #ended = new Recent<string>(endedKept)
  /** Which run of the stream's sequences. */
  #since = ''
  #session = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #isIdle = true
  #acknowledgedLast: Pick<PulledMessage, 'native'> | undefined
  #messageBytes = prefetchBytesTarget / prefetchMessagesMax

  constructor(options: IntakeOptions) {
    const { nats, ledger, input, unstored } = options
    this.#options = options
    this.packs = new Packs({ nats, ledger, stream: input, failed: (error) => unstored(error) })
    this.#ledger = new InputLedger(ledger, input)
    this.#timers = [
      every(dueCheckMs, () => this.packs.storeDue(this.#isIdle)),
      every(ackWaitMs / 3, () => {
        for (const { native } of this.#inHand.values()) native.working()
      }),
    ]
    // A server that comes back may have another stream, or one that was put back.
    nats.onReconnect(() => this.#session.abort())
  }

  /** Aborted when a stop takes too long: what is not stored by then is done again by another process. */
  get gaveUp(): AbortSignal {
    return this.#giveUp.signal
  }

  open(): void {
    this.#running = this.#run()
  }

  // --- pulling ---

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.#pull()
      } catch (error) {
        if (signal.aborted) return
        this.#options.unavailable(error)
        await sleep(restartPauseMs, signal)
      }
    }
  }

  async #pull(): Promise<void> {
    this.#session = new AbortController()
    const { nats, stream, ackPendingMax } = this.#options
    const opened = await nats.openConsumer({ stream, name: inputConsumer, ackWaitMs, ackPendingMax })
    if (opened.since !== this.#since) this.#begin(opened.since)
    const signal = AbortSignal.any([this.#stop.signal, this.#session.signal])
    for await (const message of pullAll(opened.consumer, () => this.#messagesAhead(), signal)) {
      if (this.#giveUp.signal.aborted) {
        message.native.nak()
        continue
      }
      this.#isIdle = false
      this.#messageBytes += (message.data.length - this.#messageBytes) / 16
      await this.#take(message)
      await this.packs.roomToFill()
      this.#isIdle = message.native.info.pending === 0
      if (this.#isIdle) this.packs.storeDue(true)
    }
  }

  /** Sequences begin again: what is in hand of the last run can't be acknowledged any more. */
  #begin(since: string): void {
    this.#since = since
    this.#inHand = new Map()
    this.#ended = new Recent(endedKept)
  }

  /** As many messages as fill the room for them, going by those that came last. */
  #messagesAhead(): number {
    const fitting = Math.floor(prefetchBytesTarget / Math.max(1, this.#messageBytes))
    return Math.max(1, Math.min(prefetchMessagesMax, this.#options.ackPendingMax, fitting))
  }

  // --- a message, from its coming to its acknowledgement ---

  async #take(message: PulledMessage): Promise<void> {
    const { sequence, storedAtMs } = message
    if (this.#ended.has(identityOf(message))) {
      message.native.ack()
      this.#acknowledgedLast = message
      return
    }
    const known = this.#inHand.get(sequence)
    if (known !== undefined && identityOf(known) === identityOf(message)) {
      known.native = message.native
      return
    }
    const inHand = this.#inHand
    const input: InHand = {
      sequence,
      storedAtMs,
      since: this.#since,
      packsOpen: 0,
      isRouted: false,
      native: message.native,
      processed: undefined,
      stored: () => this.#endWhenStored(input),
    }
    inHand.set(sequence, input)
    try {
      input.processed = await this.#options.process(message, input)
    } catch (error) {
      // What it caused so far may be stored; it is done again from its start.
      inHand.delete(sequence)
      input.native.nak(failedMessagePauseMs)
      if (!this.#stop.signal.aborted) this.#options.unstored(error, sequence)
      return
    }
    this.#endWhenStored(input)
  }

  #endWhenStored(input: InHand): void {
    const { processed, sequence, since } = input
    if (processed === undefined || !input.isRouted || input.packsOpen > 0) return
    input.processed = undefined
    const { counts } = processed
    this.#ledger.add({ sequence, since, counts, acknowledge: () => this.#acknowledge(input, processed) })
  }

  /** What is not in hand any more is not: its sequence may be that of another message by now. */
  #acknowledge(input: InHand, { acknowledged }: Processed): void {
    acknowledged?.()
    if (this.#inHand.get(input.sequence) !== input) return
    input.native.ack()
    this.#acknowledgedLast = input
    this.#inHand.delete(input.sequence)
    this.#ended.add(identityOf(input))
  }

  /** Stops pulling; processes, stores and acknowledges what was asked for, and gives back what takes too long. */
  async close(): Promise<void> {
    this.#stop.abort()
    const tooLong = after(stopPullWithinMs, () => this.#giveUp.abort())
    await this.#running
    tooLong.stop()
    this.#giveUp.abort()
    // A pack that is stored while its message is given back holds events that the next attempt stores again.
    const { nats } = this.#options
    const within = (ms: number): number => (nats.isConnected ? ms : stopWithoutNatsMs)
    await this.packs.close(within(stopStoreWithinMs))
    await this.#ledger.close(within(stopLedgerWithinMs))
    for (const { native } of this.#inHand.values()) native.nak()
    const last = this.#acknowledgedLast
    const isConfirmed = last === undefined || (await nats.confirmAcks(last))
    if (this.#inHand.size > 0 || !isConfirmed) this.#options.stoppedEarly(this.#inHand.size)
    for (const timer of this.#timers) timer.stop()
  }
}

/** A stream that was put back gives its sequences out again, within one run of them: the time tells who is who. */
const identityOf = ({ sequence, storedAtMs }: Pick<InHand, 'sequence' | 'storedAtMs'>): string =>
  `${sequence} ${storedAtMs}`
