/**
 * The pipeline at work: messages of records in, packs of events out.
 *
 *     pull ▸ walk (parse, find edge, geo, evaluate, produce, route) ▸ packs stored ▸ ledger ▸ acknowledged
 *
 * Several processes share one durable consumer. A message is acknowledged when everything it caused is stored; one
 * that is delivered again while it is in hand, or after its acknowledgement was lost, is not processed twice. One
 * that was delivered several times without an end may have ended those who had it: it goes through quarantine first.
 */
import { after, every, sleep, type Timer, yieldTurn } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { deliveriesBeforeQuarantine, prefetchBytesTarget, prefetchMessagesMax } from '../core/limits.js'
import type { Nats } from '../core/nats.js'
import type { PulledMessage } from '../core/nats-messages.js'
import type { Occurrences } from '../core/occurrences.js'
import { pullAll } from '../core/pull.js'
import { Recent } from '../core/recent.js'
import type { LedgerWriter } from '../deliver/ledger.js'
import { deadRecordsSubject, recordsConsumer, recordsStream } from '../ingest/streams.js'
import type { GeoLookup } from '../record/geo.js'
import type { Configuration } from './configuration.js'
import type { CountVector } from './counts.js'
import { deadRecord } from './dead-record.js'
import { FailureReports } from './failure-reports.js'
import { InputLedger, inputCounts } from './input-ledger.js'
import { type InputMessage, Packs } from './packs.js'
import { type BadRecord, type MessageResult, walkMessage } from './process-record.js'
import { type Quarantine, withoutLines } from './quarantine.js'

/** What a process held that died is delivered again after this. */
const ackWaitMs = 10_000
/** Of all processes together: half a second's worth of single records for a machine, and more. */
const ackPendingMax = 50_000
/** Those acknowledged last, whose acknowledgement may be lost. */
const endedKept = 20_000
const dueCheckMs = 20
const parkedAtOnce = 64
const restartPauseMs = 500
const failedMessagePauseMs = 1_000
/** A stop: for the messages that were asked for, for storing what they caused, for the ledger. */
const stopPullWithinMs = 2_000
const stopStoreWithinMs = 3_000
const stopLedgerWithinMs = 1_000

export interface PipelineDeps {
  readonly nats: Nats
  readonly configuration: Configuration
  readonly geo: GeoLookup
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly quarantine: Quarantine
}

interface InHand extends InputMessage {
  native: PulledMessage['native']
  /** Set when its bad records are parked; taken when the message is done. */
  result: MessageResult | undefined
}

export class Pipeline {
  readonly #deps: PipelineDeps
  readonly #packs: Packs
  readonly #inputs: InputLedger
  readonly #failures: FailureReports
  #inHand = new Map<number, InHand>()
  /** Messages of this run that were acknowledged here. */
  #ended = new Recent<number>(endedKept)
  #since = ''
  readonly #stop = new AbortController()
  readonly #giveUp = new AbortController()
  readonly #timers: Timer[]
  #session = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #isIdle = true
  #messageBytes = prefetchBytesTarget / prefetchMessagesMax

  constructor(deps: PipelineDeps) {
    this.#deps = deps
    const { nats, ledger, occurrences } = deps
    const failed = (error: unknown): void => occurrences.recordsUnstored({ reason: messageOf(error) })
    this.#packs = new Packs({ nats, ledger, stream: 'records', failed })
    this.#inputs = new InputLedger(ledger, 'records')
    this.#failures = new FailureReports(occurrences, 'record')
    this.#timers = [
      every(dueCheckMs, () => this.#packs.storeDue(this.#isIdle)),
      every(ackWaitMs / 3, () => {
        for (const { native } of this.#inHand.values()) native.working()
      }),
    ]
    // A server that comes back may have another stream, or one that was put back.
    nats.onReconnect(() => this.#session.abort())
  }

  open(): void {
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#pull()
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#deps.occurrences.recordsUnavailable({ reason: messageOf(error) })
        await sleep(restartPauseMs, this.#stop.signal)
      }
    }
  }

  async #pull(): Promise<void> {
    this.#session = new AbortController()
    const { consumer, since } = await this.#deps.nats.openConsumer({
      stream: recordsStream,
      name: recordsConsumer,
      ackWaitMs,
      ackPendingMax,
    })
    if (since !== this.#since) this.#begin(since)
    const signal = AbortSignal.any([this.#stop.signal, this.#session.signal])
    for await (const message of pullAll(consumer, () => this.#messagesAhead(), signal)) {
      if (this.#giveUp.signal.aborted) {
        message.native.nak()
        continue
      }
      this.#isIdle = false
      this.#messageBytes += (message.data.length - this.#messageBytes) / 16
      await this.#take(message)
      await this.#packs.roomToFill()
      this.#isIdle = message.native.info.pending === 0
      if (this.#isIdle) this.#packs.storeDue(true)
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
    return Math.max(1, Math.min(prefetchMessagesMax, fitting))
  }

  async #take(message: PulledMessage): Promise<void> {
    if (this.#ended.has(message.sequence)) {
      message.native.ack()
      return
    }
    const known = this.#inHand.get(message.sequence)
    if (known !== undefined) {
      known.native = message.native
      return
    }
    const inHand = this.#inHand
    const input: InHand = {
      sequence: message.sequence,
      since: this.#since,
      packsOpen: 0,
      isRouted: false,
      native: message.native,
      result: undefined,
      stored: () => this.#endWhenStored(input),
    }
    inHand.set(message.sequence, input)
    try {
      await this.#process(message, input)
    } catch (error) {
      // What it caused so far may be stored; it is done again from its start.
      inHand.delete(message.sequence)
      input.native.nak(failedMessagePauseMs)
      if (this.#stop.signal.aborted) return
      this.#deps.occurrences.recordsUnstored({ sequence: message.sequence, reason: messageOf(error) })
    }
  }

  async #process(message: PulledMessage, input: InHand): Promise<void> {
    const isSuspect = message.deliveries > deliveriesBeforeQuarantine
    const culprits = isSuspect ? await this.#deps.quarantine.culpritsIn(message.data) : []
    const result = await this.#walk(message, withoutLines(message.data, culprits), input)
    await this.#parkBad(message, [...result.bad, ...culprits])
    input.result = { ...result, counts: withBad(result.counts, culprits.length) }
    this.#endWhenStored(input)
  }

  async #walk(message: PulledMessage, bytes: Uint8Array, input: InHand): Promise<MessageResult> {
    const { configuration, geo } = this.#deps
    const buffers = this.#packs.buffersFor(input)
    try {
      const stored = { bytes, storedAtMs: message.storedAtMs }
      const walk = walkMessage(stored, { view: configuration.current, geo, buffers })
      for (let step = walk.next(); ; step = walk.next()) {
        if (step.done) return step.value
        await yieldTurn()
        await this.#packs.roomToFill()
      }
    } finally {
      buffers.close()
    }
  }

  /** Everything the message caused is stored when its bad records are parked and its packs are. */
  #endWhenStored(input: InHand): void {
    const { result, sequence, since } = input
    if (result === undefined || !input.isRouted || input.packsOpen > 0) return
    input.result = undefined
    this.#inputs.add({
      sequence,
      since,
      counts: inputCounts(result.counts),
      acknowledge: () => {
        input.native.ack()
        this.#failures.add(result.counts)
        if (since !== this.#since) return
        this.#inHand.delete(sequence)
        this.#ended.add(sequence)
      },
    })
  }

  async #parkBad(message: PulledMessage, bad: readonly BadRecord[]): Promise<void> {
    const { nats, occurrences } = this.#deps
    const park = async (record: BadRecord): Promise<void> => {
      const { data, headers } = deadRecord(record, message.sequence, nats.payloadBytesMax)
      const msgId = `${this.#since}.${message.sequence}.${record.line}`
      await nats.publish(deadRecordsSubject, data, { msgId, headers, signal: this.#giveUp.signal })
      occurrences.recordBad({ sequence: message.sequence, line: record.line, reason: record.reason })
    }
    for (let at = 0; at < bad.length; at += parkedAtOnce)
      await Promise.all(bad.slice(at, at + parkedAtOnce).map(park))
  }

  /** Stops pulling; processes, stores and acknowledges what was asked for, and gives back what takes too long. */
  async close(): Promise<void> {
    this.#stop.abort()
    const tooLong = after(stopPullWithinMs, () => this.#giveUp.abort())
    await this.#running
    tooLong.stop()
    this.#giveUp.abort()
    await this.#packs.close(stopStoreWithinMs)
    await this.#inputs.close(stopLedgerWithinMs)
    for (const { native } of this.#inHand.values()) native.nak()
    for (const timer of this.#timers) timer.stop()
    this.#failures.close()
  }
}

const withBad = (counts: CountVector, more: number): CountVector => ({
  ...counts,
  records: counts.records + more,
  bad: counts.bad + more,
})
