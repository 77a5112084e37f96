/** Cuts bytes into lines. What it keeps of a line that does not end is bounded. */

export interface RawLine {
  /** Without the line break. Of a line that is too long, the beginning. */
  readonly text: string
  /** Bytes of the line with its break. */
  readonly byteLength: number
  readonly isTooLong: boolean
}

/** Four times what a record may have. */
export const lineBytesMax = 256 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Where the line break begins; the end if there is none. */
function endOf(bytes: Buffer): number {
  const { length } = bytes
  if (bytes[length - 1] !== lineFeed) return length
  return bytes[length - 2] === carriageReturn ? length - 2 : length - 1
}

export class LineSplitter {
  #parts: Buffer[] = []
  #keptBytes = 0
  #byteLength = 0

  /** What follows the last line break; undefined if there is nothing. */
  rest(): RawLine | undefined {
    return this.#byteLength === 0 ? undefined : this.#line()
  }

  /** The lines that end in these bytes. */
  *push(bytes: Buffer): Generator<RawLine> {
    for (let from = 0; from < bytes.length; ) {
      const at = bytes.indexOf(lineFeed, from)
      const end = at === -1 ? bytes.length : at + 1
      this.#keep(bytes.subarray(from, end))
      from = end
      if (at !== -1) yield this.#line()
    }
  }

  #keep(bytes: Buffer): void {
    this.#byteLength += bytes.length
    const kept = bytes.subarray(0, lineBytesMax - this.#keptBytes)
    this.#keptBytes += kept.length
    if (kept.length > 0) this.#parts.push(kept)
  }

  #line(): RawLine {
    const [only] = this.#parts
    const bytes = this.#parts.length === 1 ? only! : Buffer.concat(this.#parts)
    const text = bytes.toString('utf8', 0, endOf(bytes))
    const line = { text, byteLength: this.#byteLength, isTooLong: this.#byteLength > this.#keptBytes }
    this.#parts = []
    this.#keptBytes = 0
    this.#byteLength = 0
    return line
  }
}
