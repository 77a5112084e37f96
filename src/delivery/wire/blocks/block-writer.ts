/**
 * Rows as columns: a block of ClickHouse's Native format (https://clickhouse.com/docs/interfaces/formats/Native), which
 * ClickHouse stores as it is. Blocks cost less than rows on the way, because texts that repeat are written and looked up
 * once.
 */

import type { Column, Texts } from './columns.js'
import { lengthBytesMax, writeCount, writeText } from './encode.js'
import type { OpenColumns, RowColumns } from './row-columns.js'

/** A block is full when it has this many rows, or this many bytes of texts. */
export const decisionBatchRows = 4096
export const decisionBatchBytes = 256 * 1024

/**
 * A kind of row extends it by a method that adds a value to each of its columns and then ends the row. A reader expects
 * the columns in the order of their declaration.
 */
export class BlockWriter {
  readonly #columns: NamedColumn[] = []
  readonly #rare: RareColumns<RowColumns>[] = []
  readonly #texts: Texts = { bytes: 0 }
  #rows = 0

  get rows(): number {
    return this.#rows
  }

  /** No further row may be added. */
  get isFull(): boolean {
    return this.#rows >= decisionBatchRows || this.#texts.bytes >= decisionBatchBytes
  }

  /** The rows so far as one block; the writer begins again. */
  take(): Uint8Array {
    const used = [...this.#columns, ...this.#rare.flatMap((rare) => rare.take(this.#rows))]
    const columns = used.map(({ name, column }) => ({ header: headerOf(name, column.type), column }))
    let byteLength = 2 * lengthBytesMax
    for (const { header, column } of columns) byteLength += header.length + column.byteLength
    const bytes = Buffer.allocUnsafe(byteLength)
    let end = writeCount(bytes, 0, columns.length)
    end = writeCount(bytes, end, this.#rows)
    for (const { header, column } of columns) {
      end = column.write(bytes, end + header.copy(bytes, end))
      column.clear()
    }
    this.#rows = 0
    this.#texts.bytes = 0
    return bytes.subarray(0, end)
  }

  /** Every column got a value. */
  protected endRow(): void {
    this.#rows += 1
  }

  protected open<Columns extends RowColumns>(columns: Columns): OpenColumns<Columns> {
    const opened = Object.entries(columns).map(([member, { name, open }]) => {
      const column = open(decisionBatchRows, this.#texts)
      this.#columns.push({ name, column })
      return [member, column]
    })
    return Object.fromEntries(opened)
  }

  /** Columns that come after all others, in blocks that have a value for them; all of them are `optional`. */
  protected openRare<Columns extends RowColumns>(columns: Columns): RareColumns<Columns> {
    const rare = new RareColumns(columns, this.#texts)
    this.#rare.push(rare as RareColumns<RowColumns>)
    return rare
  }
}

interface NamedColumn {
  readonly name: string
  readonly column: Column
}

/** A value for each column. */
type Values<Columns extends RowColumns> = {
  readonly [Member in keyof Columns]: Columns[Member]['empty']
}

/**
 * Columns that few rows have values for. A block without such a row lacks them, so that all other rows cost nothing, and
 * older processes take their blocks.
 */
class RareColumns<Columns extends RowColumns> {
  readonly #columns: Columns
  readonly #texts: Texts
  #opened: [name: string, column: ReturnType<RowColumns[string]['open']>, empty: unknown, member: string][] =
    []
  /** Rows of this block that have a value or an empty one; 0 if no row had any yet. */
  #rows = 0

  constructor(columns: Columns, texts: Texts) {
    this.#columns = columns
    this.#texts = texts
  }

  /** The values of the row at this index; the rows since the one before it have none. */
  add(row: number, values: Values<Columns>): void {
    this.#open()
    this.#fill(row)
    for (const [, column, , member] of this.#opened) column.add(values[member])
    this.#rows += 1
  }

  /** The columns of a block of so many rows; none if no row had values. */
  take(rows: number): NamedColumn[] {
    if (this.#rows === 0) return []
    this.#fill(rows)
    this.#rows = 0
    return this.#opened.map(([name, column]) => ({ name, column }))
  }

  #open(): void {
    if (this.#opened.length > 0) return
    this.#opened = Object.entries(this.#columns).map(([member, { name, open, empty }]) => [
      name,
      open(decisionBatchRows, this.#texts),
      empty,
      member,
    ])
  }

  #fill(rows: number): void {
    for (; this.#rows < rows; this.#rows += 1) for (const [, column, empty] of this.#opened) column.add(empty)
  }
}

function headerOf(name: string, type: string): Buffer {
  const bytes = Buffer.alloc(2 * lengthBytesMax + name.length + type.length)
  return bytes.subarray(0, writeText(bytes, writeText(bytes, 0, name), type))
}
