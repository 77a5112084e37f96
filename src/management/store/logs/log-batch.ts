/** Rows of the logs that were pulled and are not inserted yet, by their table. */

import { readDecisionRows } from '../../../delivery/wire/decision-rows.js'
import { readDeliveryRows } from '../../../delivery/wire/delivery-rows.js'
import { readFailureRows } from '../../../delivery/wire/failure-rows.js'
import {
  decisionRowsSubject,
  deliveryRowsSubject,
  failureRowsSubject,
  rowsHeader,
} from '../../../delivery/wire/names.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { MessageInFlight } from '../../../ground/nats/durable-reader.js'
import type { PulledMessage } from '../../../ground/nats/pulled-message.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import type { CollectedBlocks } from '../clickhouse/collected-blocks.js'
import { deliveriesTable } from './delivery-tables.js'
import { failuresTable } from './failure-table.js'
import { decisionsTable } from './log-tables.js'

/** A message without its rows: there may be megabytes of them. */
interface LogMessage {
  readonly inFlight: MessageInFlight
  readonly subject: string
  readonly rows: number
}

/** A message that holds no rows. */
export interface DamagedMessage extends LogMessage {
  readonly data: Uint8Array
}

/** The rows that can be inserted with one statement. */
type Inserter = Pick<Clickhouse, 'collectBlocks' | 'insertCollected'>

/** The messages for one table. */
export class TableBatch {
  readonly #kind: RowKind
  readonly #clickhouse: Inserter
  #messages: LogMessage[] = []
  /** Of each message its rows. */
  #blocks: CollectedBlocks

  constructor(kind: RowKind, clickhouse: Inserter) {
    this.#kind = kind
    this.#clickhouse = clickhouse
    this.#blocks = clickhouse.collectBlocks()
  }

  get messages(): readonly LogMessage[] {
    return this.#messages
  }

  async add(message: LogMessage, block: Uint8Array): Promise<void> {
    await this.#blocks.add(block)
    this.#messages.push(message)
  }

  insert(): Promise<void> {
    return this.#clickhouse.insertCollected(this.#kind.table, this.#blocks)
  }

  /** Removes and returns the messages that hold no rows. If it fails, all are still there. */
  async takeMalformed(): Promise<DamagedMessage[]> {
    const blocks = await this.#blocks.all()
    const areWhole = this.#messages.map(({ rows }, index) => holdsRows(this.#kind, blocks[index]!, rows))
    const whole = this.#clickhouse.collectBlocks()
    try {
      for (const [index, block] of blocks.entries()) if (areWhole[index]) await whole.add(block)
    } catch (error) {
      await whole.drop()
      throw error
    }
    const before = this.#blocks
    const messages = this.#messages
    this.#blocks = whole
    this.#messages = messages.filter((_, index) => areWhole[index])
    await before.drop()
    return messages.flatMap((message, index) =>
      areWhole[index] ? [] : [{ ...message, data: blocks[index]! }],
    )
  }

  drop(): Promise<void> {
    return this.#blocks.drop()
  }
}

export class LogBatch {
  readonly #clickhouse: Inserter
  readonly #bySubject = new Map<string, TableBatch>()
  readonly #unknown: DamagedMessage[] = []
  #bytes = 0
  #messages = 0
  #adding: Promise<void> = Promise.resolve()

  constructor(clickhouse: Inserter) {
    this.#clickhouse = clickhouse
  }

  get bytes(): number {
    return this.#bytes
  }

  get messages(): number {
    return this.#messages
  }

  get tables(): Iterable<TableBatch> {
    return this.#bySubject.values()
  }

  /** Messages that no table is for, and empty ones. */
  get unknown(): readonly DamagedMessage[] {
    return this.#unknown
  }

  /** One message after the other. */
  add(inFlight: MessageInFlight, { subject, headers, data }: PulledMessage): Promise<void> {
    const message = { inFlight, subject, rows: Number(headers?.get(rowsHeader) || 1) }
    this.#bytes += data.length
    this.#messages += 1
    this.#adding = this.#add(message, data)
    return this.#adding
  }

  async #add(message: LogMessage, data: Uint8Array): Promise<void> {
    const kind = rowKinds.get(message.subject)
    if (kind === undefined || data.length === 0) this.#unknown.push({ ...message, data })
    else
      await getOrMake(this.#bySubject, message.subject, () => new TableBatch(kind, this.#clickhouse)).add(
        message,
        data,
      )
  }

  /** Resolves when no message is being added any more. */
  async added(): Promise<void> {
    // The caller of `add` handles its failure.
    await Promise.allSettled([this.#adding])
  }
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

/** Are these so many whole rows? */
function holdsRows({ areValid }: RowKind, block: Uint8Array, rowsExpected: number): boolean {
  let rows = 0
  try {
    for (const isValid of areValid(block)) {
      if (!isValid) return false
      rows += 1
    }
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
  return rows === rowsExpected
}
