/**
 * Stores the rows of the decision log: stream ▸ batch ▸ one insert per table ▸ acknowledged. All API processes share the
 * stream's consumer.
 *
 * Nothing waits for it. While ClickHouse is slow or away, a batch is retried and no further one is taken; the stream
 * fills and refuses rows, which pipelines count. Rows whose acknowledgement is lost are stored twice.
 */

import { decisionLogConsumer, decisionLogStream } from '../../../delivery/wire/names.js'
import { after, every, monotonicMs, sleep, type Timer, within } from '../../../ground/core/clock.js'
import { messageOf } from '../../../ground/core/errors.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import type { Consumer } from '../../../ground/nats/consumers.js'
import {
  AcknowledgedSequences,
  DurableReader,
  type DurableReaderOptions,
} from '../../../ground/nats/durable-reader.js'
import type { Nats } from '../../../ground/nats/nats.js'
import { pullAll } from '../../../ground/nats/pull.js'
import type { PulledMessage } from '../../../ground/nats/pulled-message.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import { isRefusedByClickhouse } from '../clickhouse/errors.js'
import { type DamagedMessage, LogBatch, type TableBatch } from './log-batch.js'
import { dropOldestRows } from './log-space.js'
import type { LogBounds } from './log-table.js'
import { shapeLogTables } from './log-tables.js'

/** Rows are inserted when there are this many bytes or messages of them, or when the first is this old. */
const decisionInsertBytes = 32 * 1024 * 1024
const decisionInsertMessages = 500
const decisionInsertAgeMaxMs = 1_000
/** A small insert costs ClickHouse as much as thousands of rows: the pause after one is this many times as long … */
const decisionInsertPauseFactor = 100
/** … but no longer than this. */
const decisionInsertPauseMaxMs = 5_000
/**
 * As many bytes in the first second are followed by more: they are inserted together, after as long as the longest pause.
 */
const decisionSteadyBytes = 256 * 1024
const pulledMessages = 40

interface LogWriterOptions {
  readonly nats: DurableReaderOptions['nats'] & Pick<Nats, 'damaged'>
  readonly clickhouse: Clickhouse
  readonly bounds: LogBounds
  readonly occurrences: Pick<
    Occurrences,
    | 'decisionLogUnwritten'
    | 'decisionRowsStored'
    | 'decisionRowsMalformed'
    | 'decisionRowsDropped'
    | 'stoppedEarly'
  >
}

/** One batch is inserted while the next one is collected, by each of a few processes. */
const ackPendingMax = 4 * decisionInsertMessages
const acknowledgedMax = ackPendingMax
const retryPauseMs = { first: 500, max: 15_000 }
const sizeCheckMs = 60_000
/** A stop waits so long for the last insert; rows that are given back then may be stored twice. */
const stopInsertWithinMs = 3_000

export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #reader: DurableReader
  readonly #sizeCheck: Timer
  #batch: LogBatch
  #due: Timer | undefined
  /** The insert that runs; the next one waits for it. */
  #inserting: Promise<void> = Promise.resolve()
  /** Small batches wait until then. */
  #pauseEndMs = 0
  #isShaped = false
  #isClosed = false

  constructor(options: LogWriterOptions) {
    const { nats, occurrences } = options
    this.#options = options
    this.#batch = new LogBatch(options.clickhouse)
    this.#reader = new DurableReader({
      nats,
      consumer: { stream: decisionLogStream, name: decisionLogConsumer, ackPendingMax },
      acknowledged: new AcknowledgedSequences(acknowledgedMax),
      pull: (consumer, signal) => this.#pull(consumer, signal),
      unavailable: (error) => this.#unwritten(error),
      stoppedEarly: (messages) => occurrences.stoppedEarly({ stream: decisionLogStream, messages }),
    })
    this.#sizeCheck = every(sizeCheckMs, () => this.#keepSize())
  }

  open(): void {
    this.#reader.open()
  }

  async #pull(consumer: Consumer, signal: AbortSignal): Promise<void> {
    await this.#shapeTables()
    for await (const messages of pullAll(consumer, () => pulledMessages, signal))
      for (const message of messages) {
        await this.#collect(message)
        if (this.#isFull) await endOrAbort(this.#store(), signal)
        else this.#due ??= this.#storeLater()
      }
  }

  get #isFull(): boolean {
    return this.#batch.bytes >= decisionInsertBytes || this.#batch.messages >= decisionInsertMessages
  }

  async #collect(message: PulledMessage): Promise<void> {
    const inFlight = this.#reader.begin(message)
    if (inFlight === undefined) return
    try {
      await this.#batch.add(inFlight, message)
    } catch (error) {
      this.#reader.giveBack(inFlight, 0)
      throw error
    }
  }

  /** Done here, so that the API never waits for it. */
  async #shapeTables(): Promise<void> {
    if (this.#isShaped) return
    await shapeLogTables(this.#options.clickhouse, this.#options.bounds)
    this.#isShaped = true
  }

  /**
   * Collects rows for a second; for longer under a steady flow of few rows, if the last insert asks for a pause, or of many.
   */
  #storeLater(): Timer {
    const waitMs = Math.max(decisionInsertAgeMaxMs, this.#pauseEndMs - monotonicMs())
    return after(waitMs, () => {
      const moreMs = this.#batch.bytes < decisionSteadyBytes ? 0 : decisionInsertPauseMaxMs - waitMs
      if (moreMs > 0) this.#due = after(moreMs, () => void this.#store())
      else void this.#store()
    })
  }

  /** Inserts what was collected until the insert before it has ended. */
  #store(): Promise<void> {
    this.#due?.stop()
    this.#due = undefined
    this.#inserting = this.#inserting.then(async () => {
      const batch = this.#batch
      this.#batch = new LogBatch(this.#options.clickhouse)
      const begunMs = monotonicMs()
      await this.#insert(batch)
      const endMs = monotonicMs()
      const pauseMs = Math.min((endMs - begunMs) * decisionInsertPauseFactor, decisionInsertPauseMaxMs)
      this.#pauseEndMs = Math.max(this.#pauseEndMs, endMs + pauseMs)
    })
    return this.#inserting
  }

  async #insert(batch: LogBatch): Promise<void> {
    await batch.added()
    for (const one of batch.tables) await this.#insertInto(one)
    for (const message of batch.unknown) this.#drop(message)
  }

  /** Resolves when the rows are stored, or were given up at a stop: another process inserts them then. */
  async #insertInto(batch: TableBatch): Promise<void> {
    const isStored = await this.#insertRetrying(batch)
    await batch.drop().catch((error) => this.#unwritten(error))
    if (!isStored || this.#isClosed) return
    const rows = batch.messages.reduce((sum, message) => sum + message.rows, 0)
    this.#options.occurrences.decisionRowsStored({}, rows)
    for (const { inFlight } of batch.messages) this.#reader.acknowledge(inFlight)
  }

  /** Returns false if a stop came first. */
  async #insertRetrying(batch: TableBatch): Promise<boolean> {
    let isRefused = false
    for (let pauseMs = retryPauseMs.first; ; pauseMs = Math.min(pauseMs * 2, retryPauseMs.max)) {
      try {
        // Messages that hold no rows are the reason, if there are any.
        if (isRefused) for (const message of await batch.takeMalformed()) this.#drop(message)
        if (batch.messages.length > 0) await batch.insert()
        return true
      } catch (error) {
        this.#unwritten(error)
        isRefused = isRefusedByClickhouse(error)
      }
      await sleep(pauseMs, this.#reader.stopping)
      if (this.#reader.stopping.aborted) return false
    }
  }

  #unwritten(error: unknown): void {
    this.#options.occurrences.decisionLogUnwritten({ reason: messageOf(error) })
  }

  #drop({ inFlight, subject, rows, data }: DamagedMessage): void {
    const { nats, occurrences } = this.#options
    const { sequence } = inFlight
    occurrences.decisionRowsMalformed({ sequence, subject }, rows)
    const place = { stream: decisionLogStream, sequence }
    nats.damaged.report(place, data, new Error(`The message on ${subject} holds no rows.`))
    this.#reader.acknowledge(inFlight)
  }

  async #keepSize(): Promise<void> {
    const { clickhouse, bounds, occurrences } = this.#options
    if (!this.#isShaped) return
    try {
      const rows = await dropOldestRows(clickhouse, bounds.bytesMax)
      if (rows > 0) occurrences.decisionRowsDropped({ bytes_max: bounds.bytesMax, rows }, rows)
    } catch {
      // ClickHouse is away, which the inserts report, or another process dropped the part.
    }
  }

  /** Stores what was collected, unless ClickHouse fails; gives back the rest. */
  async close(): Promise<void> {
    this.#sizeCheck.stop()
    await this.#reader.stop()
    // A failure is a timeout: the insert itself never fails.
    await within(stopInsertWithinMs, this.#store(), 'ClickHouse is slow.').catch(() => undefined)
    this.#isClosed = true
    await this.#reader.close()
  }
}

/**
 * Resolves when the work has ended, or at the signal. A promise of the signal would keep one of each work that it was raced
 * with.
 */
function endOrAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => resolve()
    if (signal.aborted) aborted()
    signal.addEventListener('abort', aborted, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted))
  })
}
