/** Rows of the logs that were pulled and are not inserted yet, by their table. */

import { rowsHeader } from '../../../delivery/wire/names.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { MessageInFlight } from '../../../ground/nats/durable-reader.js'
import type { PulledMessage } from '../../../ground/nats/messages.js'
import type { Clickhouse } from '../clickhouse/clickhouse.js'
import type { CollectedBlocks } from '../clickhouse/collected-blocks.js'
import { holdsRows, type RowKind, rowKinds } from './row-kinds.js'

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
