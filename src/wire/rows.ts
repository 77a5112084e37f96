/**
 * Rows as bytes: values one after the other, without names. The layout is that of ClickHouse's RowBinary format, so that
 * rows are made once, where the values are, and stored as they are
 * (https://clickhouse.com/docs/interfaces/formats/RowBinary).
 */
import { type AddressSlot, formatAddress } from '../core/ip.js'

/** Text this short has a length of one byte, whatever its characters. */
const shortCharsMax = 42
const bytesPerChar = 3
const lengthBytesMax = 5
const addressBytes = 16
const twoTo32 = 2 ** 32
/** The third word of an IPv4-mapped address. */
const mappedIpv4 = 0xffff

/** The words of an enumeration by the numbers that stand for them in rows. */
export const wordsByNumber = <Word extends string>(
  numbers: Readonly<Record<Word, number>>,
): ReadonlyMap<number, Word> => new Map((Object.keys(numbers) as Word[]).map((word) => [numbers[word], word]))

/** Collects rows; the caller writes the values of each in the order of its columns, then calls `end`. */
export class RowWriter {
  #bytes: Buffer
  #length = 0
  #rows = 0

  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafe(bytesExpected)
  }

  get rows(): number {
    return this.#rows
  }

  get byteLength(): number {
    return this.#length
  }

  end(): void {
    this.#rows += 1
  }

  /** UTF-8, after its length in bytes as a variable-length integer (LEB128). */
  text(value: string): void {
    this.#reserve(lengthBytesMax + value.length * bytesPerChar)
    if (value.length <= shortCharsMax) {
      this.#shortText(value)
      return
    }
    this.#count(Buffer.byteLength(value))
    this.#length += this.#bytes.write(value, this.#length)
  }

  /** A list, after its length. */
  uint32s(values: readonly number[]): void {
    this.#reserve(lengthBytesMax + values.length * 4)
    this.#count(values.length)
    for (const value of values) this.#length = this.#bytes.writeUInt32LE(value, this.#length)
  }

  #count(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest >>>= 7) this.#bytes[this.#length++] = (rest & 0x7f) | 0x80
    this.#bytes[this.#length++] = rest
  }

  /** Most texts are empty, or short and in ASCII: copied here, they take a third of the time of a call of `write`. */
  #shortText(value: string): void {
    const bytes = this.#bytes
    const start = this.#length + 1
    let written = value.length
    for (let index = 0; index < value.length; index += 1) {
      const code = value.charCodeAt(index)
      if (code > 0x7f) {
        written = bytes.write(value, start)
        break
      }
      bytes[start + index] = code
    }
    bytes[start - 1] = written
    this.#length = start + written
  }

  uint8(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length++] = value
  }

  uint16(value: number): void {
    this.#reserve(2)
    this.#length = this.#bytes.writeUInt16LE(value, this.#length)
  }

  uint32(value: number): void {
    this.#reserve(4)
    this.#length = this.#bytes.writeUInt32LE(value, this.#length)
  }

  /** An integer from 0 to 2^53-1. */
  uint64(value: number): void {
    this.#reserve(8)
    this.#bytes.writeUInt32LE(value % twoTo32, this.#length)
    this.#length = this.#bytes.writeUInt32LE(Math.floor(value / twoTo32), this.#length + 4)
  }

  /** As IPv6 (IPv4 as an IPv4-mapped address); zeros if the slot holds no address. */
  address({ family, words }: AddressSlot): void {
    this.#reserve(addressBytes)
    for (let index = 0; index < 4; index += 1) {
      const word = family === 4 && index === 2 ? mappedIpv4 : words[index]!
      this.#length = this.#bytes.writeUInt32BE(family === 0 ? 0 : word, this.#length)
    }
  }

  /** The rows so far; they are the caller's, and the writer begins again. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length)
    this.#bytes = Buffer.allocUnsafe(this.#bytes.length)
    this.#length = 0
    this.#rows = 0
    return taken
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Reads values in the order in which they were written; throws a `RangeError` if the bytes end before a value. */
export class RowReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#bytes.length
  }

  text(): string {
    const length = this.#count()
    const end = this.#position + length
    if (end > this.#bytes.length) throw new RangeError(`A text of ${length} bytes is cut off.`)
    const text = this.#bytes.toString('utf8', this.#position, end)
    this.#position = end
    return text
  }

  uint32s(): number[] {
    const length = this.#count()
    if (this.#position + length * 4 > this.#bytes.length)
      throw new RangeError(`A list of ${length} numbers is cut off.`)
    return Array.from({ length }, () => this.uint32())
  }

  #count(): number {
    let count = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.uint8()
      count += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return count
    }
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#advance(1))
  }

  uint16(): number {
    return this.#bytes.readUInt16LE(this.#advance(2))
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4))
  }

  uint64(): number {
    const start = this.#advance(8)
    return this.#bytes.readUInt32LE(start) + this.#bytes.readUInt32LE(start + 4) * twoTo32
  }

  /** In its normal form. */
  address(): string {
    const start = this.#advance(addressBytes)
    const words = [0, 4, 8, 12].map((offset) => this.#bytes.readUInt32BE(start + offset))
    const isIpv4 = words[0] === 0 && words[1] === 0 && words[2] === mappedIpv4
    return formatAddress(isIpv4 ? 4 : 6, words)
  }

  #advance(bytes: number): number {
    const start = this.#position
    this.#position += bytes
    return start
  }
}
