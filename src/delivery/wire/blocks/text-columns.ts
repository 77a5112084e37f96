/** Columns of texts of a block (`block-writer.ts`). */

import { bytesAtFirst, type Column, type Texts } from './columns.js'
import { bytesPerChar, lengthBytesMax, writeArray, writeText, writeUint64 } from './encode.js'

/** The only version of the layout of `LowCardinality` columns. */
const dictionaryVersion = 1
/** Flags of a dictionary: its words follow, and it replaces the one before. */
const ownDictionary = (1 << 9) | (1 << 10)
/** A dictionary of more words has indices of two bytes. */
const shortDictionaryWords = 256

/** Texts that differ from row to row. */
export class TextColumn implements Column {
  readonly type = 'String'
  readonly #texts: Texts
  #bytes = Buffer.allocUnsafe(bytesAtFirst)
  #length = 0

  constructor(texts: Texts) {
    this.#texts = texts
  }

  add(value: string): void {
    const needed = this.#length + lengthBytesMax + value.length * bytesPerChar
    if (needed > this.#bytes.length) this.#grow(needed)
    const end = writeText(this.#bytes, this.#length, value)
    this.#texts.bytes += end - this.#length
    this.#length = end
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }

  get byteLength(): number {
    return this.#length
  }

  write(bytes: Buffer, start: number): number {
    this.#bytes.copy(bytes, start, 0, this.#length)
    return start + this.#length
  }

  clear(): void {
    this.#length = 0
  }
}

/** Texts that repeat: each is written once, and its number in each row. */
export class WordColumn implements Column {
  readonly type = 'LowCardinality(String)'
  readonly #numbers: Uint16Array
  readonly #words: TextColumn
  readonly #numberOf = new Map<string, number>()
  #last = ''
  #lastNumber = -1
  #rows = 0

  /** `rowsMax`: at most 65,536. */
  constructor(rowsMax: number, texts: Texts) {
    this.#numbers = new Uint16Array(rowsMax)
    this.#words = new TextColumn(texts)
  }

  add(word: string): void {
    if (word !== this.#last || this.#lastNumber < 0) {
      this.#lastNumber = this.#numberOf.get(word) ?? this.#new(word)
      this.#last = word
    }
    this.#numbers[this.#rows++] = this.#lastNumber
  }

  #new(word: string): number {
    const number = this.#numberOf.size
    this.#numberOf.set(word, number)
    this.#words.add(word)
    return number
  }

  get #bytesPerNumber(): number {
    return this.#numberOf.size <= shortDictionaryWords ? 1 : 2
  }

  get byteLength(): number {
    return 4 * 8 + this.#words.byteLength + this.#rows * this.#bytesPerNumber
  }

  write(bytes: Buffer, start: number): number {
    const width = this.#bytesPerNumber
    let end = writeUint64(bytes, start, dictionaryVersion)
    end = writeUint64(bytes, end, ownDictionary | (width - 1))
    end = writeUint64(bytes, end, this.#numberOf.size)
    end = this.#words.write(bytes, end)
    end = writeUint64(bytes, end, this.#rows)
    const numbers = this.#numbers.subarray(0, this.#rows)
    return writeArray(bytes, end, width === 1 ? new Uint8Array(numbers) : numbers)
  }

  clear(): void {
    this.#numberOf.clear()
    this.#words.clear()
    this.#lastNumber = -1
    this.#rows = 0
  }
}
