/**
 * Cuts bytes into lines. What it keeps of a line that does not end is bounded. A binary field of a journal's export is one
 * line, `NAME=contents`, though its contents have line breaks.
 */
import { BinaryField, ExportFields } from './export-fields.js'

export interface RawLine {
  /** Without the line break. Of a line that is too long, the beginning. */
  readonly text: string
  /** Bytes of the line with its break. */
  readonly byteLength: number
  readonly isTooLong: boolean
  /** How many lines of the file a binary field takes; undefined for any other line. */
  readonly fieldLines?: number
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

interface Begun {
  /** The line with its name. */
  readonly line: RawLine
  readonly field: BinaryField
}

export class LineSplitter {
  #parts: Buffer[] = []
  #keptBytes = 0
  #byteLength = 0
  readonly #fields = new ExportFields()
  /** A binary field that has no end yet. */
  #binary: Begun | undefined

  /** The text behind the last line break; undefined if there is nothing. Of a binary field that has no end, the name. */
  rest(): RawLine | undefined {
    if (this.#binary !== undefined) {
      const { line, field } = this.#binary
      this.#binary = undefined
      return { ...line, byteLength: line.byteLength + field.byteLength, fieldLines: 1 + field.breaks }
    }
    return this.#byteLength === 0 ? undefined : this.#line()
  }

  /** The lines that end in these bytes. */
  *push(bytes: Buffer): Generator<RawLine> {
    for (let from = 0; from < bytes.length; ) {
      if (this.#binary !== undefined) {
        from += this.#binary.field.take(bytes.subarray(from))
        yield* this.#afterField(this.#binary)
        continue
      }
      const at = bytes.indexOf(lineFeed, from)
      const end = at === -1 ? bytes.length : at + 1
      this.#keep(bytes.subarray(from, end))
      from = end
      if (at === -1) return
      const line = this.#line()
      if (this.#fields.beginsBinary(line.text)) {
        this.#binary = { line, field: new BinaryField(line.text, lineBytesMax) }
      } else yield line
    }
  }

  /** The field, if it is whole. If its line was no name, that line and those that end in the bytes behind it. */
  *#afterField({ line, field }: Begun): Generator<RawLine> {
    if (field.refused === undefined && !field.isWhole) return
    this.#binary = undefined
    if (field.refused !== undefined) {
      yield line
      yield* this.push(field.refused)
      return
    }
    const { name, contents, isTooLong, breaks } = field
    const byteLength = line.byteLength + field.byteLength
    yield { text: `${name}=${contents}`, byteLength, isTooLong, fieldLines: 1 + breaks }
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
