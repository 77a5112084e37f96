/**
 * A **pack** is one NATS message that holds many events of one destination. It is text, one event per line:
 *
 *     <partition key> SP <timestamp, ms since the epoch> SP <event as JSON> LF
 *
 * A partition key contains no space. The JSON contains no raw line feed (JSON.stringify writes none) and always begins
 * with `{"event_id":"`, so the id is found without parsing. A service gets the JSON with its line feed as a view of the
 * message's own bytes: nothing is copied between NATS and AWS.
 */
import { tagAt } from './event-tag.js'

const space = 0x20
const lineFeed = 0x0a
const quote = 0x22
const digitZero = 0x30

/** The first bytes of every event. */
export const eventHead = '{"event_id":"'

const eventHeadBytes = Buffer.from(eventHead)
const bufferBytesMin = 4 * 1024

/** Appends events to a growing buffer; `take` returns the pack and starts the next one. */
export class PackWriter {
  #buffer = Buffer.alloc(0)
  #byteLength = 0
  #events = 0
  /** The size of the last pack: the next one is likely to need as much, and then need not grow. */
  #expectedBytes = bufferBytesMin

  get byteLength(): number {
    return this.#byteLength
  }

  get events(): number {
    return this.#events
  }

  append(partitionKey: string, timestampMs: number, json: string): void {
    const line = `${partitionKey} ${timestampMs} ${json}\n`
    this.#reserve(line.length * 3)
    this.#byteLength += this.#buffer.write(line, this.#byteLength)
    this.#events += 1
  }

  /** The pack's bytes, which the caller owns from now on; empty if nothing was appended. */
  take(): Uint8Array {
    const pack = this.#buffer.subarray(0, this.#byteLength)
    this.#expectedBytes = Math.max(bufferBytesMin, this.#byteLength)
    this.#buffer = Buffer.alloc(0)
    this.#byteLength = 0
    this.#events = 0
    return pack
  }

  /** Reserves `bytes` more; a UTF-16 code unit takes at most three bytes of UTF-8. */
  #reserve(bytes: number): void {
    const needed = this.#byteLength + bytes
    if (needed <= this.#buffer.length) return
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2, this.#expectedBytes))
    this.#buffer.copy(grown, 0, 0, this.#byteLength)
    this.#buffer = grown
  }
}

/** One event of a pack, as views of the pack's bytes. */
export class PackedEvent {
  readonly timestampMs: number
  /** The event's JSON and its line feed. */
  readonly data: Buffer
  readonly #pack: Buffer
  readonly #keyStart: number
  readonly #keyEnd: number

  constructor(pack: Buffer, keyStart: number, keyEnd: number, timestampMs: number, data: Buffer) {
    this.#pack = pack
    this.#keyStart = keyStart
    this.#keyEnd = keyEnd
    this.timestampMs = timestampMs
    this.data = data
  }

  get partitionKey(): string {
    return this.#pack.toString('utf8', this.#keyStart, this.#keyEnd)
  }

  get partitionKeyBytes(): number {
    return this.#keyEnd - this.#keyStart
  }

  /** Is its id its partition key? Then no other event has the same key, and its order does not matter. */
  get isItsOwnKey(): boolean {
    const idEnd = eventHead.length + this.partitionKeyBytes
    if (this.data[idEnd] !== quote) return false
    return this.#pack.compare(this.data, eventHead.length, idEnd, this.#keyStart, this.#keyEnd) === 0
  }

  /** The number that stands for the event's id in the decision log. */
  get tag(): number {
    return tagAt(this.data, eventHead.length)
  }

  /** The event's id, `ev_…`. */
  get id(): string {
    return this.data.toString('latin1', eventHead.length, this.data.indexOf(quote, eventHead.length))
  }
}

/** A line of a pack that no `PackWriter` wrote: it is reported and not sent, and never causes an exception. */
interface MalformedLine {
  /** Counted from 1. */
  readonly line: number
  readonly reason: string
  readonly bytes: Buffer
}

interface Pack {
  readonly events: readonly PackedEvent[]
  readonly malformed: readonly MalformedLine[]
}

/** The events of a pack, in order. The bytes must not change while an event is in use. */
export function readPack(bytes: Uint8Array): Pack {
  const pack = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const events: PackedEvent[] = []
  const malformed: MalformedLine[] = []
  let line = 0
  for (let start = 0; start < pack.length; ) {
    line += 1
    const lineEnd = pack.indexOf(lineFeed, start)
    const end = lineEnd === -1 ? pack.length : lineEnd + 1
    const event = lineEnd === -1 ? 'The line has no end.' : readLine(pack, start, end)
    if (typeof event === 'string') malformed.push({ line, reason: event, bytes: pack.subarray(start, end) })
    else events.push(event)
    start = end
  }
  return { events, malformed }
}

/** The event between `start` and `end`, including its line feed, or the reason why the line is malformed. */
function readLine(pack: Buffer, start: number, end: number): PackedEvent | string {
  const keyEnd = pack.indexOf(space, start)
  if (keyEnd === -1 || keyEnd >= end || keyEnd === start) return 'The line has no partition key.'
  let timestampMs = 0
  let index = keyEnd + 1
  for (; index < end; index += 1) {
    const digit = pack[index]! - digitZero
    if (digit < 0 || digit > 9) break
    timestampMs = timestampMs * 10 + digit
  }
  if (index === keyEnd + 1 || pack[index] !== space || !Number.isSafeInteger(timestampMs)) {
    return 'The line has no timestamp.'
  }
  const dataStart = index + 1
  const headEnd = dataStart + eventHead.length
  if (headEnd >= end || pack.compare(eventHeadBytes, 0, eventHead.length, dataStart, headEnd) !== 0) {
    return `The event does not begin with ${eventHead}.`
  }
  const idEnd = pack.indexOf(quote, headEnd)
  if (idEnd === -1 || idEnd >= end || idEnd === headEnd) return 'The event has no id.'
  return new PackedEvent(pack, start, keyEnd, timestampMs, pack.subarray(dataStart, end))
}
