/**
 * JSON as bytes of UTF-8, written piece by piece.
 *
 * V8 joins strings by reference: each of many short pieces costs an object, and encoding the whole follows them one by one
 * (Node 20). Short pieces are written here byte by byte instead, in half the time; the same loop finds characters to escape.
 */

export const defaultBufferBytes = 4 * 1024
/** Larger blocks are copied by a call. */
const loopedBytesMax = 12
/** For longer text, the built-in functions are quicker. */
const loopedCharsMax = 256
const digitsMax = 24

const space = 0x20
const quote = 0x22
const zero = 0x30
const backslash = 0x5c
const asciiEnd = 0x80

export class JsonBytes {
  #buffer = Buffer.alloc(0)
  /** Positions of the current text. */
  #start = 0
  #end = 0
  readonly #bufferBytesMin: number

  /** Texts share buffers of at least this size. */
  constructor(bufferBytesMin: number = defaultBufferBytes) {
    this.#bufferBytesMin = bufferBytesMin
  }

  /** The length of the current text. */
  get byteLength(): number {
    return this.#end - this.#start
  }

  /** JSON that is there as bytes. */
  bytes(bytes: Uint8Array): void {
    const { length } = bytes
    this.#reserve(length)
    const buffer = this.#buffer
    const end = this.#end
    if (length > loopedBytesMax) buffer.set(bytes, end)
    else for (let index = 0; index < length; index += 1) buffer[end + index] = bytes[index]!
    this.#end = end + length
  }

  /** One byte. */
  byte(byte: number): void {
    this.#reserve(1)
    this.#buffer[this.#end++] = byte
  }

  /** The first characters of JSON that is ASCII. */
  ascii(text: string, length: number = text.length): void {
    this.#reserve(length)
    const buffer = this.#buffer
    const end = this.#end
    for (let index = 0; index < length; index += 1) buffer[end + index] = text.charCodeAt(index)
    this.#end = end + length
  }

  /** JSON. */
  text(text: string): void {
    this.#reserve(text.length * 3)
    this.#end += this.#buffer.write(text, this.#end)
  }

  /** A string. */
  quoted(text: string): void {
    if (!this.#isWrittenPlain(text)) this.text(JSON.stringify(text))
  }

  /** Writes text that is short ASCII with nothing to escape; false for any other. */
  #isWrittenPlain(text: string): boolean {
    if (text.length > loopedCharsMax) return false
    this.#reserve(text.length + 2)
    const buffer = this.#buffer
    let place = this.#end
    buffer[place++] = quote
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index)
      if (code < space || code >= asciiEnd || code === quote || code === backslash) return false
      buffer[place++] = code
    }
    buffer[place++] = quote
    this.#end = place
    return true
  }

  /** A finite number. */
  number(value: number): void {
    if (value >>> 0 !== value) {
      this.ascii(String(value))
      return
    }
    this.#reserve(digitsMax)
    let end = this.#end + 1
    for (let rest = value; rest > 9; rest = (rest / 10) >>> 0) end += 1
    const buffer = this.#buffer
    for (let place = end - 1, rest = value; place >= this.#end; place -= 1) {
      buffer[place] = zero + (rest % 10)
      rest = (rest / 10) >>> 0
    }
    this.#end = end
  }

  /** The current text, which no one changes from now on; the next one begins. */
  take(): Uint8Array {
    const taken = this.#buffer.subarray(this.#start, this.#end)
    this.#start = this.#end
    return taken
  }

  /** Drops the current text. */
  clear(): void {
    this.#end = this.#start
  }

  /** Reserves `bytes` more. */
  #reserve(bytes: number): void {
    if (this.#end + bytes > this.#buffer.length) this.#grow(bytes)
  }

  /** Earlier texts stay where they are. */
  #grow(bytes: number): void {
    const { byteLength } = this
    const grown = Buffer.allocUnsafe(Math.max(byteLength + bytes, byteLength * 2, this.#bufferBytesMin))
    this.#buffer.copy(grown, 0, this.#start, this.#end)
    this.#buffer = grown
    this.#start = 0
    this.#end = byteLength
  }
}
