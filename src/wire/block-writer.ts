/**
 * Rows as columns: a block of ClickHouse's Native format (https://clickhouse.com/docs/interfaces/formats/Native), which
 * ClickHouse stores as it is. Blocks cost less than rows on the way, because texts that repeat are written and looked up
 * once.
 */
import {
  AddressColumn,
  type Column,
  NumberColumn,
  TextColumn,
  type Texts,
  TimeColumn,
  Uint32sColumn,
  WordColumn,
} from './columns.js'
import { lengthBytesMax, writeCount, writeText } from './encode.js'

/** A block is full when it has this many rows, or this many bytes of texts. */
export const decisionBatchRows = 4096
export const decisionBatchBytes = 256 * 1024

/**
 * A kind of row extends it by its columns, and by a method that adds a value to each of them and then ends the row.
 * Columns have the names that they have in the table; their order is free.
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

  protected number(name: string): NumberColumn {
    return this.#add(name, new NumberColumn(decisionBatchRows))
  }

  protected time(name: string): TimeColumn {
    return this.#add(name, new TimeColumn(decisionBatchRows))
  }

  protected uint32s(name: string): Uint32sColumn {
    return this.#add(name, new Uint32sColumn(decisionBatchRows, this.#texts))
  }

  protected address(name: string): AddressColumn {
    return this.#add(name, new AddressColumn(decisionBatchRows))
  }

  protected text(name: string): TextColumn {
    return this.#add(name, new TextColumn(this.#texts))
  }

  protected word(name: string): WordColumn {
    return this.#add(name, new WordColumn(decisionBatchRows, this.#texts))
  }

  #add<Kind extends Column>(name: string, column: Kind): Kind {
    this.#columns.push({ name, column })
    return column
  }
}

function headerOf(name: string, type: string): Buffer {
  const bytes = Buffer.alloc(2 * lengthBytesMax + name.length + type.length)
  return bytes.subarray(0, writeText(bytes, writeText(bytes, 0, name), type))
}
