/** Data types of the SSH protocol: RFC 4251, section 5. */

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  return bytes
}

/** Bytes, or text in UTF-8, with their length in front. */
export function string(value: Uint8Array | string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** A non-negative number in the fewest big-endian bytes that leave the first bit, the sign, zero. */
export function mpint(magnitude: Uint8Array): Buffer {
  const first = magnitude.findIndex((byte) => byte !== 0)
  if (first === -1) return string('')
  const bytes = magnitude.subarray(first)
  return string(bytes[0]! >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes)
}

/** The strings that the bytes consist of; undefined if they hold anything else. */
export function readStrings(bytes: Buffer): Buffer[] | undefined {
  const strings: Buffer[] = []
  for (let offset = 0; offset < bytes.length; ) {
    if (offset + 4 > bytes.length) return undefined
    const end = offset + 4 + bytes.readUInt32BE(offset)
    if (end > bytes.length) return undefined
    strings.push(bytes.subarray(offset + 4, end))
    offset = end
  }
  return strings
}

/** Reads data of different types, one after the other; past the end, undefined. */
export class SshReader {
  #offset = 0
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  string(): Buffer | undefined {
    const start = this.#offset + 4
    const length = start > this.#bytes.length ? Infinity : this.#bytes.readUInt32BE(this.#offset)
    this.#offset = start + length
    return this.#offset > this.#bytes.length ? undefined : this.#bytes.subarray(start, this.#offset)
  }

  skip(bytes: number): void {
    this.#offset += bytes
  }
}
