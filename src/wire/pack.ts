/**
 * A **pack** is one NATS message that holds many events of one destination. It is text, one event per line:
 *
 *     <partition key> SP <timestamp, ms since the epoch> SP <event as JSON> LF
 *
 * A partition key contains no space. The JSON contains no raw line feed (JSON.stringify writes none) and always begins
 * with `{"event_id":"`, so the id is found without parsing. A service gets the JSON with its line feed as a view of the
 * message's own bytes: nothing is copied between NATS and AWS.
 */
import { defaultBufferBytes, JsonBytes } from '../core/json-bytes.js'
import { tagAt } from './event-tag.js'

const space = 0x20
const lineFeed = 0x0a
const quote = 0x22
const digitZero = 0x30
const digitNine = 0x39

/** The first bytes of every event. */
export const eventHead = '{"event_id":"'

const eventHeadBytes = Buffer.from(eventHead)

/** An event whose partition key is its id, in the parts that it is written from. */
export interface IdentifiedEvent {
  /** The id: both parts, one behind the other. */
  readonly recordPart: Uint8Array
  readonly purposePart: Uint8Array
  /** The event from the quotation mark behind its id to its line feed. */
  readonly rest: Uint8Array
}

/** Appends events to a growing buffer; `take` returns the pack and starts the next one. */
export class PackWriter {
  #lines = new JsonBytes()
  #events = 0
  /** The last timestamp, which most events share with the one before, and what stands between key and id with it. */
  #timestampMs = Number.NaN
  #betweenIds: Uint8Array = eventHeadBytes

  get byteLength(): number {
    return this.#lines.byteLength
  }

  get events(): number {
    return this.#events
  }

  append(partitionKey: string, timestampMs: number, json: string): void {
    this.#lines.text(`${partitionKey} ${timestampMs} ${json}\n`)
    this.#events += 1
  }

  appendIdentified({ recordPart, purposePart, rest }: IdentifiedEvent, timestampMs: number): void {
    if (timestampMs !== this.#timestampMs) {
      this.#timestampMs = timestampMs
      this.#betweenIds = Buffer.from(` ${timestampMs} ${eventHead}`)
    }
    const lines = this.#lines
    lines.bytes(recordPart)
    lines.bytes(purposePart)
    lines.bytes(this.#betweenIds)
    lines.bytes(recordPart)
    lines.bytes(purposePart)
    lines.bytes(rest)
    this.#events += 1
  }

  /** The pack's bytes, which the caller owns from now on; empty if nothing was appended. */
  take(): Uint8Array {
    const pack = this.#lines.take()
    // A writer keeps no pack's buffer, for many wait for events. The next pack is likely to be as large.
    this.#lines = new JsonBytes(Math.max(defaultBufferBytes, pack.length))
    this.#events = 0
    return pack
  }
}

/**
 * One event of a pack: where its line lies in the pack's bytes. Thousands of them are in memory at once, so that what can
 * be read from the line is read when it is needed.
 */
export class PackedEvent {
  /** The whole pack. */
  readonly bytes: Buffer
  /** Where its line and its partition key begin. */
  readonly start: number
  readonly keyEnd: number
  /** Where its JSON begins. */
  readonly dataStart: number
  /** After its line feed. */
  readonly end: number

  /** `readLine` has checked the line. */
  constructor(bytes: Buffer, start: number, keyEnd: number, dataStart: number, end: number) {
    this.bytes = bytes
    this.start = start
    this.keyEnd = keyEnd
    this.dataStart = dataStart
    this.end = end
  }

  get timestampMs(): number {
    return digitsAt(this.bytes, this.keyEnd + 1, this.dataStart - 1)
  }

  /** The event's JSON and its line feed. */
  get data(): Buffer {
    return this.bytes.subarray(this.dataStart, this.end)
  }

  get dataBytes(): number {
    return this.end - this.dataStart
  }

  get partitionKey(): string {
    return this.bytes.toString('utf8', this.start, this.keyEnd)
  }

  get partitionKeyBytes(): number {
    return this.keyEnd - this.start
  }

  /** Is its id its partition key? Then no other event has the same key, and its order does not matter. */
  get isItsOwnKey(): boolean {
    const idStart = this.dataStart + eventHead.length
    const idEnd = idStart + this.partitionKeyBytes
    if (this.bytes[idEnd] !== quote) return false
    return this.bytes.compare(this.bytes, idStart, idEnd, this.start, this.keyEnd) === 0
  }

  /** The number that stands for the event's id in the decision log. */
  get tag(): number {
    return tagAt(this.bytes, this.dataStart + eventHead.length)
  }

  /** The event's id, `ev_…`. */
  get id(): string {
    const idStart = this.dataStart + eventHead.length
    return this.bytes.toString('latin1', idStart, this.bytes.indexOf(quote, idStart))
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
  let index = keyEnd + 1
  while (index < end && isDigit(pack[index]!)) index += 1
  const isTimestamp = index > keyEnd + 1 && pack[index] === space
  if (!isTimestamp || !Number.isSafeInteger(digitsAt(pack, keyEnd + 1, index)))
    return 'The line has no timestamp.'
  const dataStart = index + 1
  const headEnd = dataStart + eventHead.length
  if (headEnd >= end || !isHeadAt(pack, dataStart)) return `The event does not begin with ${eventHead}.`
  const idEnd = pack.indexOf(quote, headEnd)
  if (idEnd === -1 || idEnd >= end || idEnd === headEnd) return 'The event has no id.'
  return new PackedEvent(pack, start, keyEnd, dataStart, end)
}

const isDigit = (byte: number): boolean => byte >= digitZero && byte <= digitNine

function digitsAt(pack: Buffer, start: number, end: number): number {
  let value = 0
  for (let index = start; index < end; index += 1) value = value * 10 + pack[index]! - digitZero
  return value
}

/** For so few bytes, faster than `Buffer.compare`. */
function isHeadAt(pack: Buffer, start: number): boolean {
  for (let index = 0; index < eventHeadBytes.length; index += 1)
    if (pack[start + index] !== eventHeadBytes[index]) return false
  return true
}
