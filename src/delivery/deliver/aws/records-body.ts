/**
 * The body of PutRecords and PutRecordBatch, in one buffer. Strings are made for base64 alone, a piece at a time: they are
 * most of the garbage of a deliverer.
 */
import type { PackedEvent } from '../../wire/packed-event.js'
import type { ServiceRecord } from '../kind/sender.js'

export interface RecordsBody {
  /** Does a record have its event's partition key? */
  readonly hasKeys: boolean
  readonly events: readonly PackedEvent[]
  readonly records: readonly ServiceRecord[]
}

const dataBegins = Buffer.from('{"Data":"')
const keyBegins = Buffer.from('","PartitionKey":')
const keyEnds = Buffer.from('},')
const dataEnds = Buffer.from('"},')
/** The names around the data and the key of a record are shorter than this. */
const overheadBytes = 64
/** A character of JSON takes at most six bytes. */
const escapedBytes = 6
/** Bytes that become base64 at once. Longer strings than these would be moved to the heap of large objects. */
const pieceBytes = 24 * 1024

/** The body `{"Records":[…],<end>`, in a buffer of the pool. */
export function recordsBody(pool: BodyPool, { hasKeys, events, records }: RecordsBody, end: string): Buffer {
  let [bytesMax, joinedMax] = [Buffer.byteLength(end) + overheadBytes, 0]
  for (const { dataBytes, partitionKeyBytes } of records) {
    bytesMax += base64Bytes(dataBytes) + partitionKeyBytes * escapedBytes + overheadBytes
    joinedMax = Math.max(joinedMax, dataBytes)
  }
  const buffer = pool.take(bytesMax + joinedMax)
  // Behind the body, the lines of a record are written before they become base64.
  const writer = new Writer(buffer, buffer.subarray(bytesMax))
  writer.text('{"Records":[')
  for (let index = 0; index < records.length; index += 1) {
    const { indices } = records[index]!
    writer.bytes(dataBegins)
    if (indices === undefined) writer.line(events[index]!)
    else writer.lines(events, indices)
    if (hasKeys) {
      writer.bytes(keyBegins)
      writer.key(events[indices?.[0] ?? index]!)
      writer.bytes(keyEnds)
    } else writer.bytes(dataEnds)
  }
  return writer.ended(`],${end}`)
}

const base64Bytes = (bytes: number): number => Math.ceil(bytes / 3) * 4

class Writer {
  readonly #buffer: Buffer
  readonly #joined: Buffer
  #end = 0

  constructor(buffer: Buffer, joined: Buffer) {
    this.#buffer = buffer
    this.#joined = joined
  }

  text(text: string): void {
    this.#end += this.#buffer.write(text, this.#end)
  }

  /** For few bytes, this is faster than a call of `copy` or `write`. */
  bytes(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) this.#buffer[this.#end + at] = bytes[at]!
    this.#end += bytes.length
  }

  line(event: PackedEvent): void {
    this.#base64(event.writeData(this.#joined, 0))
  }

  /** Each event ends with a line feed, so the lines are the events' bytes one after the other. */
  lines(events: readonly PackedEvent[], indices: readonly number[]): void {
    let end = 0
    for (const index of indices) end = events[index]!.writeData(this.#joined, end)
    this.#base64(end)
  }

  #base64(end: number): void {
    for (let from = 0; from < end; from += pieceBytes) {
      const piece = this.#joined.toString('base64', from, Math.min(end, from + pieceBytes))
      this.#end += this.#buffer.write(piece, this.#end, 'latin1')
    }
  }

  /** The partition key as JSON in ASCII. */
  key(event: PackedEvent): void {
    const start = this.#end
    const keyStart = start + 1
    const keyEnd = event.writeKey(this.#buffer, keyStart)
    for (let at = keyStart; at < keyEnd; at += 1) {
      if (isEscaped[this.#buffer[at]!] === 0) continue
      this.text(asciiJson(event.partitionKey))
      return
    }
    this.#buffer[start] = quote
    this.#buffer[keyEnd] = quote
    this.#end = keyEnd + 1
  }

  /** The body. Its end replaces the last comma. */
  ended(end: string): Buffer {
    this.#end -= 1
    this.text(end)
    return this.#buffer.subarray(0, this.#end)
  }
}

const quote = 0x22
const backslash = 0x5c
/** By byte: is there more to it in JSON than the byte itself? */
const isEscaped = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte > 0x7e || byte === quote || byte === backslash ? 1 : 0,
)
const notAscii = /[^\0-\x7f]/g

/** A text as JSON in ASCII. */
const asciiJson = (text: string): string =>
  JSON.stringify(text).replaceAll(
    notAscii,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/**
 * Buffers for the bodies of requests to one destination, which are used again: they have hundreds of kilobytes, and if
 * each request leaves one behind, V8 collects garbage all the time, for 7 % of a busy deliverer's CPU.
 *
 * Buffers that are not in use are held weakly: a destination that sends nothing holds no memory, however many there are.
 * Each one has a pool of its own, so that no mistake of an endpoint can get the events of another account to it.
 */
export class BodyPool {
  readonly #free: WeakRef<ArrayBufferLike>[] = []

  /** A buffer of at least so many bytes, with any contents. */
  take(bytes: number): Buffer {
    for (let held = this.#free.pop(); held !== undefined; held = this.#free.pop()) {
      const free = held.deref()
      if (free !== undefined && free.byteLength >= bytes) return Buffer.from(free)
    }
    // Sizes of full requests differ a little: each buffer should fit most of them.
    return Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)))
  }

  /** For the whole or a part of a buffer from `take`, which nothing reads or writes any more. */
  giveBack({ buffer }: Buffer): void {
    this.#free.push(new WeakRef(buffer))
  }
}
