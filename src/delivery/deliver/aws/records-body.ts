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
export function recordsBody(pool: BodyPool, body: RecordsBody, end: string): Buffer {
  let [bytesMax, largest, all] = [Buffer.byteLength(end) + overheadBytes, 0, 0]
  for (const record of body.records) {
    const { dataBytes } = record
    bytesMax += base64Bytes(dataBytes) + aroundBytesMax(record)
    largest = Math.max(largest, wholeThrees(dataBytes))
    all += wholeThrees(dataBytes)
  }
  const joinedBytes = Math.max(largest, Math.min(all, pieceBytes))
  const buffer = pool.take(bytesMax + joinedBytes)
  // Behind the body, the data of records are written before they become base64.
  const writer = new Writer(body, buffer, buffer.subarray(bytesMax))
  writer.text('{"Records":[')
  for (let index = 0; index < body.records.length; ) index = writer.records(index)
  return writer.ended(`],${end}`)
}

const wholeThrees = (bytes: number): number => Math.ceil(bytes / 3) * 3
const base64Bytes = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** What a record takes besides its data, at most. */
const aroundBytesMax = ({ partitionKeyBytes }: ServiceRecord): number =>
  partitionKeyBytes * escapedBytes + overheadBytes

class Writer {
  readonly #body: RecordsBody
  readonly #buffer: Buffer
  readonly #joined: Buffer
  #end = 0

  constructor(body: RecordsBody, buffer: Buffer, joined: Buffer) {
    this.#body = body
    this.#buffer = buffer
    this.#joined = joined
  }

  text(text: string): void {
    this.#end += this.#buffer.write(text, this.#end)
  }

  /** For few bytes, this is faster than a call of `copy` or `write`. */
  #bytes(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; at += 1) this.#buffer[this.#end + at] = bytes[at]!
    this.#end += bytes.length
  }

  /**
   * Writes the record at the index, and further ones if their data are a piece together: a call for each would take as long
   * as all the rest. Returns the index of the next record.
   */
  records(first: number): number {
    const { records } = this.#body
    let [next, joinedEnd, aroundBytes] = [first, 0, 0]
    do {
      joinedEnd = this.#join(next, joinedEnd)
      aroundBytes += aroundBytesMax(records[next]!)
      next += 1
    } while (next < records.length && joinedEnd + records[next]!.dataBytes <= pieceBytes)
    // So far behind the end that no record is overwritten before it is moved to its place.
    let from = this.#end + aroundBytes
    this.#encode(joinedEnd, from)
    for (let index = first; index < next; index += 1) from = this.#record(index, from)
    return next
  }

  /**
   * Writes the data of a record behind those of others, and zeros up to a multiple of three bytes: so the base64 of each is
   * as by itself. Each event ends with a line feed, so lines are events' bytes one after the other. Returns where they end.
   */
  #join(record: number, begin: number): number {
    const { events, records } = this.#body
    const { indices } = records[record]!
    let end = begin
    if (indices === undefined) end = events[record]!.writeData(this.#joined, end)
    else for (const index of indices) end = events[index]!.writeData(this.#joined, end)
    while (end % 3 !== 0) this.#joined[end++] = 0
    return end
  }

  #encode(joinedEnd: number, to: number): void {
    for (let [from, at] = [0, to]; from < joinedEnd; from += pieceBytes) {
      const piece = this.#joined.toString('base64', from, Math.min(joinedEnd, from + pieceBytes))
      at += this.#buffer.write(piece, at, 'latin1')
    }
  }

  /** Writes a record, whose data are base64 at `from`. Returns where the data of the next one are. */
  #record(index: number, from: number): number {
    const { hasKeys, events, records } = this.#body
    const { dataBytes, indices } = records[index]!
    const encodedEnd = from + base64Bytes(dataBytes)
    this.#bytes(dataBegins)
    this.#buffer.copyWithin(this.#end, from, encodedEnd)
    this.#end += encodedEnd - from
    const added = wholeThrees(dataBytes) - dataBytes
    for (let at = 1; at <= added; at += 1) this.#buffer[this.#end - at] = padding
    if (hasKeys) {
      this.#bytes(keyBegins)
      this.#key(events[indices?.[0] ?? index]!)
      this.#bytes(keyEnds)
    } else this.#bytes(dataEnds)
    return encodedEnd
  }

  /** The partition key as JSON in ASCII. */
  #key(event: PackedEvent): void {
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

/** In base64, it stands for a byte that the last three lack. */
const padding = 0x3d
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
