/**
 * Stores the rows of the decision log: stream ▸ batch ▸ one insert per table ▸ acknowledged. All API processes share the stream's
 * consumer.
 *
 * Nothing waits for it. While ClickHouse is slow or away, a batch is retried and no further one is taken; the stream
 * fills and refuses rows, which pipelines count. Rows whose acknowledgement is lost are stored twice.
 */
import { after, every, monotonicMs, sleep, type Timer, within } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import { getOrMake } from '../../core/maps.js'
import type { Occurrences } from '../../core/telemetry/occurrences.js'
import type { Consumer } from '../../nats/consumers.js'
import {
  AcknowledgedSequences,
  DurableReader,
  type DurableReaderOptions,
  type MessageInFlight,
} from '../../nats/durable-reader.js'
import type { PulledMessage } from '../../nats/messages.js'
import { pullAll } from '../../nats/pull.js'
import { readDecisionRows } from '../../wire/decision-rows.js'
import { readDeliveryRows } from '../../wire/delivery-rows.js'
import { readFailureRows } from '../../wire/failure-rows.js'
import {
  decisionLogConsumer,
  decisionLogStream,
  decisionRowsSubject,
  deliveryRowsSubject,
  failureRowsSubject,
  rowsHeader,
} from '../../wire/names.js'
import { type Clickhouse, isRefusedByClickhouse } from '../clickhouse/clickhouse.js'
import { deliveriesTable } from './delivery-tables.js'
import { failuresTable } from './failure-table.js'
import { dropOldestRows } from './log-space.js'
import type { LogBounds } from './log-table.js'
import { decisionsTable, shapeLogTables } from './log-tables.js'

/** Rows are inserted when there are this many bytes of them, or when the first is this old. */
const decisionInsertBytes = 16 * 1024 * 1024
const decisionInsertAgeMaxMs = 1_000
/** A small insert costs ClickHouse as much as thousands of rows: the pause after one is this many times as long … */
const decisionInsertPauseFactor = 100
/** … but no longer than this. */
const decisionInsertPauseMaxMs = 5_000
/** Messages requested at once: together about as many bytes. */
const decisionInsertMessages = 40

/** Rows that are not inserted yet. */
interface LogMessage {
  readonly inFlight: MessageInFlight
  readonly message: PulledMessage
}

interface LogWriterOptions {
  readonly nats: DurableReaderOptions['nats']
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
const ackPendingMax = 8 * decisionInsertMessages
const acknowledgedMax = 4 * decisionInsertMessages
const retryPauseMs = { first: 500, max: 15_000 }
const sizeCheckMs = 60_000
/** A stop waits so long for the last insert; rows that are given back then may be stored twice. */
const stopInsertWithinMs = 3_000

export class LogWriter {
  readonly #options: LogWriterOptions
  readonly #reader: DurableReader
  readonly #sizeCheck: Timer
  #batch: LogMessage[] = []
  #bytes = 0
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
    this.#reader = new DurableReader({
      nats,
      consumer: { stream: decisionLogStream, name: decisionLogConsumer, ackPendingMax },
      acknowledged: new AcknowledgedSequences(acknowledgedMax),
      pull: (consumer, signal) => this.#pull(consumer, signal),
      unavailable: (error) => occurrences.decisionLogUnwritten({ reason: messageOf(error) }),
      stoppedEarly: (messages) => occurrences.stoppedEarly({ stream: decisionLogStream, messages }),
    })
    this.#sizeCheck = every(sizeCheckMs, () => this.#keepSize())
  }

  open(): void {
    this.#reader.open()
  }

  async #pull(consumer: Consumer, signal: AbortSignal): Promise<void> {
    await this.#shapeTables()
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    for await (const message of pullAll(consumer, () => decisionInsertMessages, signal)) {
      const inFlight = this.#reader.begin(message)
      if (inFlight === undefined) continue
      this.#batch.push({ inFlight, message })
      this.#bytes += message.data.length
      if (this.#bytes >= decisionInsertBytes) await Promise.race([this.#store(), aborted])
      else this.#due ??= after(this.#waitMs(), () => void this.#store())
    }
  }

  /** Done here, so that the API never waits for it. */
  async #shapeTables(): Promise<void> {
    if (this.#isShaped) return
    await shapeLogTables(this.#options.clickhouse, this.#options.bounds)
    this.#isShaped = true
  }

  /** The time to collect rows: under a steady flow of few rows, the pause that the last insert asks for. */
  #waitMs(): number {
    return Math.max(decisionInsertAgeMaxMs, this.#pauseEndMs - monotonicMs())
  }

  /** Inserts what was collected until the insert before it has ended. */
  #store(): Promise<void> {
    this.#due?.stop()
    this.#due = undefined
    this.#inserting = this.#inserting.then(async () => {
      const batch = this.#batch
      this.#batch = []
      this.#bytes = 0
      const begunMs = monotonicMs()
      await this.#insert(batch)
      const endMs = monotonicMs()
      this.#pauseEndMs =
        endMs + Math.min((endMs - begunMs) * decisionInsertPauseFactor, decisionInsertPauseMaxMs)
    })
    return this.#inserting
  }

  async #insert(batch: readonly LogMessage[]): Promise<void> {
    const bySubject = new Map<string, LogMessage[]>()
    for (const one of batch) getOrMake(bySubject, one.message.subject, () => []).push(one)
    for (const [subject, messages] of bySubject) {
      const kind = rowKinds.get(subject)
      if (kind === undefined) for (const one of messages) this.#drop(one)
      else await this.#insertInto(kind, messages)
    }
  }

  /** Resolves when the rows are stored, or were given up at a stop: another process inserts them then. */
  async #insertInto(kind: RowKind, messages: readonly LogMessage[]): Promise<void> {
    let batch = messages
    let pauseMs = retryPauseMs.first
    while (batch.length > 0) {
      try {
        const blocks = batch.map(({ message }) => message.data)
        await this.#options.clickhouse.insertBlocks(kind.table, blocks)
        break
      } catch (error) {
        this.#options.occurrences.decisionLogUnwritten({ reason: messageOf(error) })
        if (isRefusedByClickhouse(error)) batch = this.#withoutMalformed(kind, batch)
        await sleep(pauseMs, this.#reader.stopping)
        if (this.#reader.stopping.aborted) return
        pauseMs = Math.min(pauseMs * 2, retryPauseMs.max)
      }
    }
    if (this.#isClosed) return
    const rows = batch.reduce((sum, { message }) => sum + rowsOf(message), 0)
    this.#options.occurrences.decisionRowsStored({}, rows)
    for (const { inFlight } of batch) this.#reader.acknowledge(inFlight)
  }

  /** ClickHouse refused the batch: messages that hold no rows are the reason, if there are any, and are dropped. */
  #withoutMalformed(kind: RowKind, batch: readonly LogMessage[]): LogMessage[] {
    return batch.filter((one) => {
      if (holdsRows(one.message, kind)) return true
      this.#drop(one)
      return false
    })
  }

  #drop({ inFlight, message }: LogMessage): void {
    const { sequence, subject } = message
    this.#options.occurrences.decisionRowsMalformed({ sequence, subject }, rowsOf(message))
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

const rowsOf = ({ headers }: PulledMessage): number => Number(headers?.get(rowsHeader) || 1)

/** Are these whole rows, as many as the header says? */
function holdsRows(message: PulledMessage, { areValid }: RowKind): boolean {
  let rows = 0
  try {
    for (const isValid of areValid(message.data)) {
      if (!isValid) return false
      rows += 1
    }
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
  return rows === rowsOf(message)
}

/** The rows of a subject. */
interface RowKind {
  readonly table: string
  /** For each row, whether its words are known; throws a `RangeError` for bytes that are cut off. */
  readonly areValid: (data: Uint8Array) => Iterable<boolean>
}

const rowKinds: ReadonlyMap<string, RowKind> = new Map([
  [decisionRowsSubject, { table: decisionsTable, areValid: validDecisions }],
  [deliveryRowsSubject, { table: deliveriesTable, areValid: validDeliveries }],
  [failureRowsSubject, { table: failuresTable, areValid: validFailures }],
])

/** A word of a later version is undefined here. */
function* validDecisions(data: Uint8Array): Iterable<boolean> {
  for (const row of readDecisionRows(data))
    yield row.type !== undefined &&
      row.decision !== undefined &&
      row.decidedBy !== undefined &&
      row.shadowDecision !== undefined &&
      row.shadowDecidedBy !== undefined &&
      row.challengerDecision !== undefined &&
      row.challengerDecidedBy !== undefined
}

function* validDeliveries(data: Uint8Array): Iterable<boolean> {
  for (const { outcome } of readDeliveryRows(data)) yield outcome !== undefined
}

/** Half of a place would be merged with that of others. */
function* validFailures(data: Uint8Array): Iterable<boolean> {
  for (const { policy, subscriptionId } of readFailureRows(data))
    yield (policy === '') !== (subscriptionId === '')
}
