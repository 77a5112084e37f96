/**
 * The path of an input message, whatever it holds:
 *
 *     pull ▸ process ▸ packs stored ▸ ledger ▸ acknowledged
 *
 * A message is acknowledged when everything it caused is stored. If its processing fails, it is given back and
 * processed again from the start.
 */

import type { InputStream, LedgerWriter } from '../../delivery/books/ledger.js'
import type { SettledInput } from '../../delivery/books/reading.js'
import { inputConsumer } from '../../delivery/wire/names.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { after, every, monotonicMs, type Timer } from '../../ground/core/clock.js'
import type { Soon } from '../../ground/core/concurrency.js'
import { inSpan } from '../../ground/core/telemetry/tracing.js'
import type { Consumer, ConsumerOptions } from '../../ground/nats/consumers.js'
import {
  AcknowledgedSequences,
  DurableReader,
  type DurableReaderOptions,
} from '../../ground/nats/durable-reader.js'
import type { Nats } from '../../ground/nats/nats.js'
import { pullAll } from '../../ground/nats/pull.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { BusyDestinations } from './busy-destinations.js'
import { InputLedger } from './input-ledger.js'
import { IntakeMessage, type ProcessedMessage } from './intake-message.js'
import { LongWalks } from './long-walks.js'
import { messageTrace } from './message-trace.js'
import type { InputMessage } from './open-pack.js'
import { packSpacingMs } from './pack-times.js'
import { Packs } from './packs.js'
import { RecentWork } from './recent-work.js'

/** Messages of records prefetched ahead of the walk; their size and the time they take, estimated from recent ones. */
const prefetchMessagesMax = 512
const prefetchBytesTarget = 16 * 1024 * 1024
const prefetchMsTarget = 100
/** So many are recent. */
const recentMessages = 16

const acknowledgedMax = 20_000
const dueCheckMs = 20
/** Work that takes more than this part of the time makes a process busy. */
const busyShare = 1 / 4
/**
 * Time limits of a stop: for messages that were asked for, for storing their packs, for the ledger. Only a very
 * slow NATS reaches them; a message that is given back then is processed again, and its events may arrive twice.
 */
const stopPullWithinMs = 3_000
const stopStoreWithinMs = 8_000
const stopLedgerWithinMs = 5_000
/** Without a connection to NATS, nothing can be stored. */
const stopWithoutNatsMs = 500

interface IntakeOptions extends Pick<DurableReaderOptions, 'unavailable' | 'stoppedEarly'> {
  readonly nats: Nats
  /** Where packs go. */
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  readonly busy: Pick<BusyDestinations, 'hasNext'>
  readonly ledger: LedgerWriter
  /** The JetStream stream. */
  readonly stream: string
  /** Default: the consumer that all pipelines share, from the beginning. */
  readonly consumer?: Pick<ConsumerOptions, 'name' | 'firstSequence'>
  /** Shows that the stream was put back. Replays go on without; one that is under way may then be counted short. */
  readonly settled?: SettledInput
  /** Its name in the books. */
  readonly input: InputStream
  /** How many inputs this process reads for the same destinations, this one included. Default: one. */
  readonly inputs?: () => number
  /** Messages that may be in flight in all processes together. */
  readonly ackPendingMax: number
  /** Bytes of messages that are pulled ahead. */
  readonly aheadBytes?: number
  /** Puts the message's events into `packs`, as events of `input`; undefined: it is too early, the message comes again. */
  readonly process: (message: PulledMessage, input: InputMessage) => Soon<ProcessedMessage | undefined>
  /** Are its messages traced? Not those that are read again. */
  readonly isTraced?: true
  /** While it returns false, nothing is pulled. */
  readonly mayPull?: () => boolean
  /** Called when a pack begins to be stored; what it returns is called when the pack is stored or given up. */
  readonly packBegun?: (destination: string, bytes: number) => () => void
  /** Reports why a message, or a pack if no sequence is given, was not stored; it is retried. */
  readonly unstored: (error: unknown, sequence?: number) => void
}

/** How long it took. */
async function msUntil(done: Promise<void>): Promise<number> {
  const begunMs = monotonicMs()
  await done
  return monotonicMs() - begunMs
}

export class Intake {
  readonly packs: Packs
  readonly longWalks = new LongWalks()
  readonly #options: IntakeOptions
  readonly #reader: DurableReader
  readonly #ledger: InputLedger
  readonly #giveUp = new AbortController()
  /** Messages that are being processed, or whose `alsoStored` is awaited. */
  readonly #storing = new Set<Promise<void>>()
  /** Runs while there is work. */
  #storeDue: Timer | undefined
  #isIdle = true
  readonly #work = new RecentWork()
  /** The mean size of recent messages, and the mean time that one took. */
  #messageBytes = prefetchBytesTarget / prefetchMessagesMax
  #messageMs = 1

  constructor(options: IntakeOptions) {
    const { nats, partitions, busy, ledger, settled, stream, input, ackPendingMax } = options
    const { inputs, packBegun, unavailable, unstored, stoppedEarly } = options
    this.#options = options
    const lastDone = settled && ((since: string) => settled.last(input, since))
    const storing = { nats, partitions, busy, ledger, packBegun, failed: unstored }
    this.packs = new Packs({ ...storing, stream: input, inputs })
    this.#ledger = new InputLedger(ledger, input)
    this.#reader = new DurableReader({
      nats,
      consumer: { name: inputConsumer, ...options.consumer, stream, ackPendingMax, lastDone },
      acknowledged: new AcknowledgedSequences(acknowledgedMax),
      pull: (consumer, signal) => this.#pull(consumer, signal),
      unavailable,
      stoppedEarly,
    })
  }

  /** Aborted when a stop takes too long: another process repeats what is not stored by then. */
  get gaveUp(): AbortSignal {
    return this.#giveUp.signal
  }

  /**
   * Messages wait to be processed, or took a good part of the last second. What else they need, a processor or a
   * deliverer, may then be scarce, although none waits here.
   */
  get isBusy(): boolean {
    return !this.#isIdle || this.#work.share > busyShare
  }

  open(): void {
    this.#reader.open()
  }

  async #pull(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const { signal: gaveUp } = this.#giveUp
    const { inputs = () => 1 } = this.#options
    // With several inputs, as long as their packs wait for each other: what comes earlier would wait in a pack.
    const gatherMs = (): number => (inputs() === 1 ? 0 : packSpacingMs(inputs()))
    const options = { endNow: gaveUp, gatherMs }
    for await (const messages of pullAll(consumer, () => this.#messagesAhead(), signal, options))
      await this.#processAll(messages)
  }

  /**
   * One after the other. Only what takes long is awaited: a promise takes as long as a good part of a record's way. So does
   * a look at the clock for each.
   */
  async #processAll(messages: readonly PulledMessage[]): Promise<void> {
    let begunMs = monotonicMs()
    for (const message of messages) {
      if (this.gaveUp.aborted) {
        this.#reader.refuse(message)
        continue
      }
      this.#isIdle = false
      this.#watchPacks()
      this.#messageBytes += (message.data.length - this.#messageBytes) / recentMessages
      const turn = this.longWalks.turn()
      if (turn !== undefined) begunMs += await msUntil(turn)
      const processing = this.#process(message)
      if (processing instanceof Promise) await this.#processed(processing)
      if (this.packs.isFull) begunMs += await msUntil(this.packs.roomToFill())
      this.#isIdle = message.pending === 0
      if (this.#isIdle) this.packs.storeDue(true)
    }
    this.#work.addSince(begunMs)
    const meanMs = (monotonicMs() - begunMs) / messages.length
    this.#messageMs += (meanMs - this.#messageMs) * Math.min(1, messages.length / recentMessages)
  }

  /** Until a stop, others pass a message that takes long. */
  async #processed(processing: Promise<void>): Promise<void> {
    const done = processing.finally(() => this.#storing.delete(done))
    this.#storing.add(done)
    await this.longWalks.processedOrAside(done)
  }

  /** By a message that takes long, with all of its events so far in packs. Rejects if a stop takes too long. */
  async pause(): Promise<void> {
    await this.longWalks.pause()
    this.gaveUp.throwIfAborted()
    this.#watchPacks()
  }

  /** Packs become due by themselves, also if no further message comes. Without work there are none to look at. */
  #watchPacks(): void {
    this.#storeDue ??= every(dueCheckMs, () => {
      // The messages behind the last one may have gone to another process.
      this.packs.storeDue(this.#isIdle || this.#work.isOver)
      if (!this.#isIdle || !this.packs.isEmpty) return
      this.#storeDue?.stop()
      this.#storeDue = undefined
    })
  }

  /**
   * As many messages as fit the room for them, and are worked through soon, judged by recent ones. Two batches can be
   * here at a time, and another process that has nothing to do does not get them.
   */
  #messagesAhead(): number {
    if (this.#options.mayPull?.() === false) return 0
    const { aheadBytes = prefetchBytesTarget } = this.#options
    const fitting = Math.floor(aheadBytes / Math.max(1, this.#messageBytes))
    const soon = Math.ceil(prefetchMsTarget / Math.max(0.01, this.#messageMs))
    return Math.max(1, Math.min(prefetchMessagesMax, this.#options.ackPendingMax, fitting, soon))
  }

  #process(message: PulledMessage): Soon<void> {
    const inFlight = this.#reader.begin(message)
    if (inFlight === undefined) return
    const { isTraced, stream, process } = this.#options
    const trace = isTraced && messageTrace(message, stream)
    const input = new IntakeMessage(inFlight, message.storedAtMs, this.#reader, this.#ledger, trace)
    try {
      // Most messages are not traced: they need no function to go on with.
      const result =
        trace === undefined ? process(message, input) : inSpan(trace.span, () => process(message, input))
      if (result instanceof Promise) return this.#finishLater(input, result)
      this.#finish(input, result)
    } catch (error) {
      this.#failed(input, error)
    }
  }

  async #finishLater(input: IntakeMessage, processing: Promise<ProcessedMessage | undefined>): Promise<void> {
    try {
      this.#finish(input, await processing)
    } catch (error) {
      this.#failed(input, error)
    }
  }

  #finish(input: IntakeMessage, result: ProcessedMessage | undefined): void {
    if (result === undefined) input.giveBack()
    else if (result.alsoStored === undefined) input.finish(result)
    else this.#finishOnce(result.alsoStored, input, result)
  }

  #finishOnce(stored: Promise<void>, input: IntakeMessage, result: ProcessedMessage): void {
    const storing = stored
      .then(
        () => input.finish(result),
        (error) => this.#failed(input, error),
      )
      .finally(() => this.#storing.delete(storing))
    this.#storing.add(storing)
  }

  /** Part of what it caused may be stored; the message is processed again from the start. */
  #failed(input: IntakeMessage, error: unknown): void {
    input.giveBack()
    if (!this.#reader.stopping.aborted) this.#options.unstored(error, input.sequence)
  }

  /** Stops pulling; processes, stores and acknowledges what was asked for, and gives back what takes too long. */
  async close(): Promise<void> {
    const tooLong = after(stopPullWithinMs, () => this.#giveUp.abort())
    await this.#reader.stop()
    await Promise.all(this.#storing)
    tooLong.stop()
    this.#giveUp.abort()
    const { nats } = this.#options
    const within = (ms: number): number => (nats.isConnected ? ms : stopWithoutNatsMs)
    // If a pack is stored although its message is given back, the next attempt stores the same events again.
    await this.packs.close(within(stopStoreWithinMs))
    await this.#ledger.close(within(stopLedgerWithinMs))
    await this.#reader.close()
    this.#storeDue?.stop()
  }
}
