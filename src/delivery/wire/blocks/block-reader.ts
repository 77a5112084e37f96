/** Reads blocks that `block-writer.ts` writes: column by column, in the order in which they were written. */
import { formatAddress } from '../../../ground/core/address/ip.js'
import { bufferOf } from '../../../ground/core/bytes.js'
import { shown } from '../../../ground/core/errors.js'
import { timeType } from './columns.js'

const twoTo32 = 2 ** 32
/** The third word of an IPv4-mapped address. */
const mappedIpv4 = 0xffff
/** The part of a dictionary's flags that tells how many bytes an index has. */
const indexTypeMask = 0xff

/** The value of a column in a row. */
type ValueIn<Value> = (row: number) => Value

/** All methods throw a `RangeError` for bytes that are no such block. */
export class BlockReader {
  readonly rows: number
  readonly #bytes: Buffer
  #columnsLeft: number
  #position = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bufferOf(bytes)
    this.#columnsLeft = this.#count()
    this.rows = this.#count()
    // Every column has a byte per row, so a larger number never reserves memory.
    if (this.rows > this.#bytes.length) throw new RangeError(`A block of ${this.rows} rows is cut off.`)
  }

  /** Is it the next column? */
  isNext(name: string): boolean {
    if (this.#columnsLeft === 0) return false
    const start = this.#position
    const found = this.#text()
    this.#position = start
    return found === name
  }

  number(name: string): ValueIn<number> {
    const type = this.#begin(name)
    switch (type) {
      case 'UInt8': {
        const start = this.#values(1)
        return (row) => this.#bytes.readUInt8(start + row)
      }
      case 'UInt16': {
        const start = this.#values(2)
        return (row) => this.#bytes.readUInt16LE(start + row * 2)
      }
      case 'UInt32': {
        const start = this.#values(4)
        return (row) => this.#bytes.readUInt32LE(start + row * 4)
      }
      case 'UInt64':
        return this.#uint64s()
      default:
        throw new RangeError(`The column ${name} has the type ${shown(type)}.`)
    }
  }

  /** Milliseconds since the epoch. */
  time(name: string): ValueIn<number> {
    this.#begin(name, timeType)
    return this.#uint64s()
  }

  uint32s(name: string): ValueIn<number[]> {
    this.#begin(name, 'Array(UInt32)')
    const ends = this.#uint64s()
    const values = this.#advance(this.rows === 0 ? 0 : ends(this.rows - 1) * 4)
    return (row) => {
      const first = row === 0 ? 0 : ends(row - 1)
      return Array.from({ length: ends(row) - first }, (_, index) =>
        this.#bytes.readUInt32LE(values + (first + index) * 4),
      )
    }
  }

  /** In its normal form. */
  address(name: string): ValueIn<string> {
    const type = this.#begin(name)
    switch (type) {
      case 'IPv4': {
        const start = this.#values(4)
        return (row) => formatAddress(4, [0, 0, 0, this.#bytes.readUInt32LE(start + row * 4)])
      }
      case 'IPv6': {
        const start = this.#values(16)
        return (row) => this.#ipv6At(start + row * 16)
      }
      default:
        throw new RangeError(`The column ${name} has the type ${shown(type)}.`)
    }
  }

  #ipv6At(start: number): string {
    const words = [0, 4, 8, 12].map((offset) => this.#bytes.readUInt32BE(start + offset))
    const isIpv4 = words[0] === 0 && words[1] === 0 && words[2] === mappedIpv4
    return formatAddress(isIpv4 ? 4 : 6, words)
  }

  text(name: string): ValueIn<string> {
    this.#begin(name, 'String')
    const texts = this.#texts(this.rows)
    return (row) => texts[row]!
  }

  word(name: string): ValueIn<string> {
    this.#begin(name, 'LowCardinality(String)')
    this.#advance(8)
    const flags = this.#uint64At(this.#advance(8))
    const words = this.#texts(this.#uint64At(this.#advance(8)))
    this.#advance(8)
    const width = (flags & indexTypeMask) === 0 ? 1 : 2
    const start = this.#advance(this.rows * width)
    const wordAt = (index: number): string => {
      const word = words[index]
      if (word === undefined) throw new RangeError(`${name} has no word ${index}.`)
      return word
    }
    return width === 1
      ? (row) => wordAt(this.#bytes.readUInt8(start + row))
      : (row) => wordAt(this.#bytes.readUInt16LE(start + row * 2))
  }

  /** All columns were read. */
  end(): void {
    if (this.#columnsLeft > 0) throw new RangeError(`A block has ${this.#columnsLeft} more columns.`)
    const rest = this.#bytes.length - this.#position
    if (rest > 0) throw new RangeError(`${rest} bytes follow a block.`)
  }

  #uint64s(): ValueIn<number> {
    const start = this.#values(8)
    return (row) => this.#uint64At(start + row * 8)
  }

  #values(bytesPerRow: number): number {
    return this.#advance(this.rows * bytesPerRow)
  }

  /** The type of the next column. */
  #begin(name: string, type?: string): string {
    if (this.#columnsLeft === 0) throw new RangeError(`A block has no column ${name}.`)
    this.#columnsLeft -= 1
    const [foundName, foundType] = [this.#text(), this.#text()]
    if (foundName !== name)
      throw new RangeError(`A block has the column ${shown(foundName)} instead of ${name}.`)
    if (type !== undefined && foundType !== type)
      throw new RangeError(`The column ${name} has the type ${shown(foundType)}.`)
    return foundType
  }

  #texts(count: number): string[] {
    const texts: string[] = []
    for (let index = 0; index < count; index += 1) texts.push(this.#text())
    return texts
  }

  #text(): string {
    const length = this.#count()
    const start = this.#advance(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  #count(): number {
    let count = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.#bytes.readUInt8(this.#advance(1))
      count += (byte & 0x7f) * scale
      if (byte < 0x80) return count
    }
  }

  #uint64At(start: number): number {
    return this.#bytes.readUInt32LE(start) + this.#bytes.readUInt32LE(start + 4) * twoTo32
  }

  #advance(bytes: number): number {
    const start = this.#position
    this.#position += bytes
    if (this.#position > this.#bytes.length) throw new RangeError('A block is cut off.')
    return start
  }
}
