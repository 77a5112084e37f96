/**
 * Rows as columns: a block of ClickHouse's Native format (https://clickhouse.com/docs/interfaces/formats/Native), which
 * ClickHouse stores as it is. Blocks cost less than rows on the way, because texts that repeat are written and looked up
 * once.
 */
import { lengthBytesMax, writeCount, writeText } from '../encode.js'
import type { Column, Texts } from './columns.js'
import type { OpenColumns, RowColumns } from './row-columns.js'

/** A block is full when it has this many rows, or this many bytes of texts. */
export const decisionBatchRows = 4096
export const decisionBatchBytes = 256 * 1024

/**
 * A kind of row extends it by a method that adds a value to each of its columns and then ends the row. A reader expects
 * the columns in the order of their declaration.
 */
export class BlockWriter {
  readonly #columns: { readonly name: string; readonly column: Column }[] = []
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
    const columns = this.#columns.map(({ name, column }) => ({ header: headerOf(name, column.type), column }))
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
}

function headerOf(name: string, type: string): Buffer {
  const bytes = Buffer.alloc(2 * lengthBytesMax + name.length + type.length)
  return bytes.subarray(0, writeText(bytes, writeText(bytes, 0, name), type))
}
