/**
 * The fields of an entry that `journalctl -o export` writes. One with control characters, such as colours or line breaks, is
 * **binary**: a line with its name, its length in eight bytes, so many bytes of contents, and a line break. Contents are
 * never taken for a field or an entry, whatever a client wrote there. https://systemd.io/JOURNAL_EXPORT_FORMATS/
 */

/** The whole line: one that a client could write into a log, such as a host name with more behind it, begins no entry. */
const entryForm = /^__CURSOR=[a-z]=[0-9a-f]+(?:;[a-z]=[0-9a-f]+)*$/

export const beginsEntry = (line: string): boolean => entryForm.test(line)

const nameForm = '[A-Z_][A-Z0-9_]{0,63}'
const fieldForm = new RegExp(`^(?<name>${nameForm})(?:=(?<value>.*))?$`, 's')

/** The name of a field and its value, which is undefined if it is binary and has not come. */
export function fieldIn(line: string): { readonly name: string; readonly value?: string } | undefined {
  const { name, value } = fieldForm.exec(line)?.groups ?? {}
  if (name === undefined) return undefined
  return value === undefined ? { name } : { name, value }
}

const sizeBytes = 8
/** As systemd has it (DATA_SIZE_MAX). Text has no such numbers: four of their bytes are zero. */
const contentsBytesMax = 768 * 1024 * 1024

const lineFeed = 0x0a

/** Finds where binary fields are, among the lines of an entry. */
export class ExportFields {
  #isEntry = false

  /** Is it the name of a binary field? Called with each line that is none itself. */
  beginsBinary(line: string): boolean {
    if (beginsEntry(line)) this.#isEntry = true
    const field = this.#isEntry ? fieldIn(line) : undefined
    if (field === undefined) this.#isEntry = false
    return field !== undefined && field.value === undefined
  }
}

/** The part of a binary field behind the line with its name. What it keeps is bounded. */
export class BinaryField {
  readonly name: string
  readonly #keptMax: number
  #head: Buffer = Buffer.alloc(0)
  readonly #parts: Buffer[] = []
  #keptBytes = 0
  #contentsBytes = 0
  #endBytes = 0
  #breaksWithin = 0
  #isWhole = false
  #refused: Buffer | undefined

  constructor(name: string, keptMax: number) {
    this.name = name
    this.#keptMax = keptMax
  }

  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Line breaks among its bytes. */
  get breaks(): number {
    return breaksIn(this.#head) + this.#breaksWithin + this.#endBytes
  }

  /** With the number of bytes and the line break. */
  get byteLength(): number {
    return this.#head.length + this.#contentsBytes + this.#endBytes
  }

  get isTooLong(): boolean {
    return this.#contentsBytes > this.#keptMax
  }

  get contents(): string {
    return Buffer.concat(this.#parts).toString()
  }

  /** If the line before was no name after all: the bytes that are no size, which were taken. */
  get refused(): Buffer | undefined {
    return this.#refused
  }

  /** Takes what belongs to it, and returns how many bytes that are. */
  take(bytes: Buffer): number {
    const ofHead = Math.min(sizeBytes - this.#head.length, bytes.length)
    this.#head = Buffer.concat([this.#head, bytes.subarray(0, ofHead)])
    if (this.#head.length < sizeBytes) return ofHead
    const size = this.#head.readBigUInt64LE()
    if (size <= contentsBytesMax) return ofHead + this.#takeContents(bytes.subarray(ofHead), Number(size))
    this.#refused = this.#head
    return ofHead
  }

  #takeContents(bytes: Buffer, size: number): number {
    const own = bytes.subarray(0, size - this.#contentsBytes)
    const kept = own.subarray(0, this.#keptMax - this.#keptBytes)
    this.#keptBytes += kept.length
    if (kept.length > 0) this.#parts.push(kept)
    this.#contentsBytes += own.length
    this.#breaksWithin += breaksIn(own)
    this.#isWhole = own.length < bytes.length
    // Without a line break, the field is damaged, and what follows is the next line.
    if (bytes[own.length] === lineFeed) this.#endBytes = 1
    return own.length + this.#endBytes
  }
}

function breaksIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  return count
}
