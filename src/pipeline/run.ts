/**
 * The pipeline at work: messages of records in, packs of events out.
 *
 *     pull ▸ walk (parse, find edge, geo, evaluate, produce, route) ▸ packs stored ▸ ledger ▸ acknowledged
 *
 * Several processes share one durable consumer. A message is acknowledged when everything it caused is stored; one
 * that is delivered again while it is still in hand is not processed twice.
 */
import { every, sleep, type Timer, yieldTurn } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { type ConsumerMessages, type Nats, type PulledMessage, pulled } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import type { LedgerWriter } from '../deliver/ledger.js'
import { deadRecordsSubject, recordsStream } from '../ingest/streams.js'
import type { GeoLookup } from '../record/geo.js'
import type { Configuration } from './configuration.js'
import { deadRecord } from './dead-record.js'
import { InputLedger, inputCounts } from './input-ledger.js'
import { type InputMessage, Packs } from './packs.js'
import { type BadRecord, type MessageResult, walkMessage } from './process-record.js'

const consumerName = 'pipeline'
const ackWaitMs = 60_000
const ackPendingMax = 20_000
/** Messages asked for ahead of the walk. */
const prefetchMax = 512
const dueCheckMs = 20
const parkedAtOnce = 64
const restartPauseMs = 500
const closeWithinMs = 6_000

export interface PipelineDeps {
  readonly nats: Nats
  readonly configuration: Configuration
  readonly geo: GeoLookup
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  /** When the records stream was made. */
  readonly since: string
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
  readonly #inHand = new Map<number, InHand>()
  readonly #stop = new AbortController()
  readonly #timers: Timer[]
  #messages: ConsumerMessages | undefined
  #running: Promise<void> = Promise.resolve()
  #isIdle = true

  constructor(deps: PipelineDeps) {
    this.#deps = deps
    const { nats, ledger, since, occurrences } = deps
    const failed = (error: unknown): void => occurrences.recordsUnstored({ reason: messageOf(error) })
    this.#packs = new Packs({ nats, ledger, stream: 'records', since, failed })
    this.#inputs = new InputLedger(ledger, 'records', since, failed)
    this.#timers = [
      every(dueCheckMs, () => this.#packs.storeDue(this.#isIdle)),
      every(ackWaitMs / 3, () => {
        for (const { native } of this.#inHand.values()) native.working()
      }),
    ]
  }

  open(): void {
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        await this.#consume(signal)
      } catch (error) {
        if (signal.aborted) return
        this.#deps.occurrences.recordsUnavailable({ reason: messageOf(error) })
        await sleep(restartPauseMs, signal)
      }
    }
  }

  async #consume(signal: AbortSignal): Promise<void> {
    const { nats } = this.#deps
    const consumer = await nats.ensureConsumer({
      stream: recordsStream,
      name: consumerName,
      ackWaitMs,
      ackPendingMax,
    })
    const messages = await consumer.consume({ max_messages: prefetchMax, abort_on_missing_resource: true })
    this.#messages = messages
    if (signal.aborted) messages.stop()
    for await (const message of messages) {
      if (signal.aborted) break
      this.#isIdle = false
      await this.#process(pulled(message))
      await this.#packs.roomToFill()
      this.#isIdle = messages.getPending() === 0
      if (this.#isIdle) this.#packs.storeDue(true)
    }
  }

  async #process(message: PulledMessage): Promise<void> {
    const known = this.#inHand.get(message.sequence)
    if (known !== undefined) {
      known.native = message.native
      return
    }
    const input: InHand = {
      sequence: message.sequence,
      packsOpen: 0,
      isRouted: false,
      native: message.native,
      result: undefined,
      stored: () => this.#doneWhenStored(input),
    }
    this.#inHand.set(message.sequence, input)
    const result = await this.#walk(message, input)
    await this.#parkBad(message, result.bad)
    input.result = result
    this.#doneWhenStored(input)
  }

  async #walk(message: PulledMessage, input: InHand): Promise<MessageResult> {
    const { configuration, geo } = this.#deps
    const buffers = this.#packs.buffersFor(input)
    try {
      const stored = { bytes: message.data, storedAtMs: message.storedAtMs }
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
  #doneWhenStored(input: InHand): void {
    const { result } = input
    if (result === undefined || !input.isRouted || input.packsOpen > 0) return
    input.result = undefined
    this.#done(input, result)
  }

  #done(input: InHand, result: MessageResult): void {
    this.#inputs.add({
      sequence: input.sequence,
      counts: inputCounts(result.counts),
      acknowledge: () => {
        this.#inHand.delete(input.sequence)
        input.native.ack()
        this.#report(result)
      },
    })
  }

  #report({ counts }: MessageResult): void {
    const { occurrences } = this.#deps
    for (const { edge_id, policy, count } of counts.policyFailures) {
      occurrences.policyExpressionFailed({ edge_id, policy }, count)
    }
    for (const { subscription_id, kind, count } of counts.filterFailures) {
      occurrences.filterFailed({ subscription_id, kind }, count)
    }
    for (const { restriction_id, count } of counts.warnings)
      occurrences.restrictionWarned({ restriction_id }, count)
  }

  async #parkBad(message: PulledMessage, bad: readonly BadRecord[]): Promise<void> {
    const { nats, occurrences, since } = this.#deps
    const park = async (record: BadRecord): Promise<void> => {
      const { data, headers } = deadRecord(record, message.sequence, nats.payloadBytesMax)
      const msgId = `${since}.${message.sequence}.${record.line}`
      await nats.publish(deadRecordsSubject, data, { msgId, headers, signal: this.#stop.signal })
      occurrences.recordBad({ sequence: message.sequence, line: record.line, reason: record.reason })
    }
    for (let at = 0; at < bad.length; at += parkedAtOnce)
      await Promise.all(bad.slice(at, at + parkedAtOnce).map(park))
  }

  /** Stops pulling, stores and acknowledges what is in hand. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#messages?.stop()
    await this.#running
    await this.#packs.close(closeWithinMs)
    await this.#inputs.close()
    for (const timer of this.#timers) timer.stop()
  }
}
