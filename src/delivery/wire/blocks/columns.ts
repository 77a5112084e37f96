/** Columns of numbers, times and addresses, and of lists of numbers, of a block (`block-writer.ts`). */
import type { Address } from '../../../ground/core/address/ip.js'
import { writeArray, writeUint64s } from './encode.js'

const twoTo32 = 2 ** 32
const wordsPerAddress = 4
/** The third word of an IPv4-mapped address. */
const mappedIpv4 = 0xffff
/** As ClickHouse names it. */
export const timeType = "DateTime64(3, 'UTC')"
/** Columns without a fixed width begin with this room, and grow. */
export const bytesAtFirst = 4096

/** The values of one column, a value per row. */
export interface Column {
  /** ClickHouse converts values of another type than the table's. It may depend on the values. */
  readonly type: string
  readonly byteLength: number
  /** Writes the values there; returns the end. */
  write(bytes: Buffer, start: number): number
  clear(): void
}

/** The bytes of all texts and lists of a block so far. */
export interface Texts {
  bytes: number
}

/** Types of integers, from the narrowest. */
const integerTypes = [
  { name: 'UInt8', end: 2 ** 8, Values: Uint8Array },
  { name: 'UInt16', end: 2 ** 16, Values: Uint16Array },
  { name: 'UInt32', end: twoTo32, Values: Uint32Array },
] as const

/** Integers from 0 to 2^53-1, in the narrowest type that holds all of the block. */
export class NumberColumn implements Column {
  readonly #values: Float64Array
  #rows = 0
  #max = 0

  constructor(rowsMax: number) {
    this.#values = new Float64Array(rowsMax)
  }

  add(value: number): void {
    this.#values[this.#rows++] = value
    if (value > this.#max) this.#max = value
  }

  get #narrow() {
    return integerTypes.find(({ end }) => this.#max < end)
  }

  get type(): string {
    return this.#narrow?.name ?? 'UInt64'
  }

  get byteLength(): number {
    return this.#rows * (this.#narrow?.Values.BYTES_PER_ELEMENT ?? 8)
  }

  write(bytes: Buffer, start: number): number {
    const values = this.#values.subarray(0, this.#rows)
    return this.#narrow === undefined
      ? writeUint64s(bytes, start, values)
      : writeArray(bytes, start, new this.#narrow.Values(values))
  }

  clear(): void {
    this.#rows = 0
    this.#max = 0
  }
}

/** Words of an enumeration, as their numbers: from 0 to 127. */
export class EnumColumn<Word extends string> implements Column {
  readonly type = 'UInt8'
  readonly #numbers: Readonly<Record<Word, number>>
  readonly #values: Uint8Array
  #rows = 0

  constructor(rowsMax: number, numbers: Readonly<Record<Word, number>>) {
    this.#values = new Uint8Array(rowsMax)
    this.#numbers = numbers
  }

  add(word: Word): void {
    this.#values[this.#rows++] = this.#numbers[word]
  }

  get byteLength(): number {
    return this.#rows
  }

  write(bytes: Buffer, start: number): number {
    return writeArray(bytes, start, this.#values.subarray(0, this.#rows))
  }

  clear(): void {
    this.#rows = 0
  }
}

/** Times in milliseconds since the epoch. */
export class TimeColumn implements Column {
  readonly type = timeType
  readonly #values: Float64Array
  #rows = 0

  constructor(rowsMax: number) {
    this.#values = new Float64Array(rowsMax)
  }

  add(value: number): void {
    this.#values[this.#rows++] = value
  }

  get byteLength(): number {
    return this.#rows * 8
  }

  write(bytes: Buffer, start: number): number {
    return writeUint64s(bytes, start, this.#values.subarray(0, this.#rows))
  }

  clear(): void {
    this.#rows = 0
  }
}

/** IPv4 and IPv6 addresses; a row without an address has zeros. */
export class AddressColumn implements Column {
  readonly #words: Uint32Array
  #rows = 0
  /** ClickHouse makes IPv4-mapped addresses of the others, which take a quarter of the room. */
  #hasOnlyIpv4 = true

  constructor(rowsMax: number) {
    this.#words = new Uint32Array(wordsPerAddress * rowsMax)
  }

  add({ family, words }: Address): void {
    const start = this.#rows * wordsPerAddress
    this.#rows += 1
    if (family !== 4) this.#hasOnlyIpv4 = false
    this.#words[start] = words[0]
    this.#words[start + 1] = words[1]
    this.#words[start + 2] = family === 4 ? mappedIpv4 : words[2]
    this.#words[start + 3] = words[3]
  }

  get type(): string {
    return this.#hasOnlyIpv4 ? 'IPv4' : 'IPv6'
  }

  get byteLength(): number {
    return this.#rows * (this.#hasOnlyIpv4 ? 1 : wordsPerAddress) * 4
  }

  /** IPv4 addresses are little-endian numbers, IPv6 addresses are in network byte order. */
  write(bytes: Buffer, start: number): number {
    const words = this.#words.subarray(0, this.#rows * wordsPerAddress)
    if (this.#hasOnlyIpv4) {
      const numbers = new Uint32Array(this.#rows)
      for (let row = 0; row < numbers.length; row += 1) numbers[row] = words[(row + 1) * wordsPerAddress - 1]!
      return writeArray(bytes, start, numbers)
    }
    let end = start
    for (const word of words) end = bytes.writeUInt32BE(word, end)
    return end
  }

  clear(): void {
    this.#rows = 0
    this.#hasOnlyIpv4 = true
  }
}

/** Lists of integers from 0 to 2^32-1. */
export class Uint32sColumn implements Column {
  readonly type = 'Array(UInt32)'
  readonly #ends: Float64Array
  readonly #texts: Texts
  #values = new Uint32Array(bytesAtFirst / 4)
  #length = 0
  #rows = 0

  constructor(rowsMax: number, texts: Texts) {
    this.#ends = new Float64Array(rowsMax)
    this.#texts = texts
  }

  add(values: readonly number[]): void {
    const end = this.#length + values.length
    if (end > this.#values.length) this.#grow(end)
    this.#values.set(values, this.#length)
    this.#length = end
    this.#ends[this.#rows++] = end
    this.#texts.bytes += values.length * this.#values.BYTES_PER_ELEMENT
  }

  #grow(needed: number): void {
    const larger = new Uint32Array(Math.max(needed, this.#values.length * 2))
    larger.set(this.#values)
    this.#values = larger
  }

  get byteLength(): number {
    return this.#rows * 8 + this.#length * this.#values.BYTES_PER_ELEMENT
  }

  write(bytes: Buffer, start: number): number {
    const end = writeUint64s(bytes, start, this.#ends.subarray(0, this.#rows))
    return writeArray(bytes, end, this.#values.subarray(0, this.#length))
  }

  clear(): void {
    this.#length = 0
    this.#rows = 0
  }
}
