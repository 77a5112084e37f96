/**
 * An event in a pack: where it lies in the pack's bytes. Thousands of them are in memory at once, so that what can be read
 * from there is read when it is needed.
 */

import { tagAt, tagOf } from './event-tag.js'
import { type EventTemplate, type EventTime, eventHead, type ValueLine } from './event-template.js'

const quote = 0x22
/** For one id at a time. */
const idBuffer = Buffer.alloc(64)

export interface PackedEvent {
  readonly timestampMs: number
  /** The length of its JSON with a line feed. */
  readonly dataBytes: number
  /** Its JSON and a line feed. */
  readonly data: Buffer
  /** Writes `data` to where there is room; returns where it ends. */
  writeData(target: Uint8Array, begin: number): number
  readonly partitionKey: string
  readonly partitionKeyBytes: number
  /** Writes the partition key; returns where it ends. */
  writeKey(target: Uint8Array, begin: number): number
  /** Is its id its partition key? Then no other event has the same key, and its order does not matter. */
  readonly isItsOwnKey: boolean
  /** `ev_…` */
  readonly id: string
  /** The number that stands for the id in the decision log. */
  readonly tag: number
}

/** An event that is in the pack as a whole, on a line with its partition key and its time. */
export class WholeEvent implements PackedEvent {
  /** The whole pack. */
  readonly #bytes: Buffer
  /** The positions of its line, which begins with its partition key, and of the key's end. */
  readonly #start: number
  readonly #keyEnd: number
  /** The positions of its JSON, and behind its line feed. */
  readonly #dataStart: number
  readonly #end: number

  /** The line has been checked. */
  constructor(bytes: Buffer, start: number, keyEnd: number, dataStart: number, end: number) {
    this.#bytes = bytes
    this.#start = start
    this.#keyEnd = keyEnd
    this.#dataStart = dataStart
    this.#end = end
  }

  get timestampMs(): number {
    return Number(this.#bytes.toString('latin1', this.#keyEnd + 1, this.#dataStart - 1))
  }

  get dataBytes(): number {
    return this.#end - this.#dataStart
  }

  get data(): Buffer {
    return this.#bytes.subarray(this.#dataStart, this.#end)
  }

  writeData(target: Uint8Array, begin: number): number {
    return begin + this.#bytes.copy(target, begin, this.#dataStart, this.#end)
  }

  get partitionKey(): string {
    return this.#bytes.toString('utf8', this.#start, this.#keyEnd)
  }

  get partitionKeyBytes(): number {
    return this.#keyEnd - this.#start
  }

  writeKey(target: Uint8Array, begin: number): number {
    return begin + this.#bytes.copy(target, begin, this.#start, this.#keyEnd)
  }

  get isItsOwnKey(): boolean {
    return this.id === this.partitionKey
  }

  get id(): string {
    const start = this.#idStart
    return this.#bytes.toString('latin1', start, this.#bytes.indexOf(quote, start))
  }

  get tag(): number {
    return tagAt(this.#bytes, this.#idStart)
  }

  get #idStart(): number {
    return this.#dataStart + eventHead.length
  }
}

/** An event whose values are in the pack, and the rest of it in a template. Its partition key is its id. */
export class TemplatedEvent implements PackedEvent, ValueLine {
  /** The whole pack. */
  readonly bytes: Uint8Array
  readonly start: number
  readonly idEnd: number
  readonly end: number
  readonly #template: EventTemplate
  readonly #time: EventTime

  /** The line has as many values as the template needs. */
  constructor({ bytes, start, idEnd, end }: ValueLine, template: EventTemplate, time: EventTime) {
    this.bytes = bytes
    this.start = start
    this.idEnd = idEnd
    this.end = end
    this.#template = template
    this.#time = time
  }

  get timestampMs(): number {
    return this.#time.ms
  }

  get dataBytes(): number {
    return this.#template.byteLength(this, this.#time)
  }

  get data(): Buffer {
    const data = Buffer.allocUnsafe(this.dataBytes)
    this.writeData(data, 0)
    return data
  }

  writeData(target: Uint8Array, begin: number): number {
    return this.#template.write(this, this.#time, target, begin)
  }

  get partitionKey(): string {
    return this.id
  }

  get partitionKeyBytes(): number {
    return this.#template.idBytes(this)
  }

  writeKey(target: Uint8Array, begin: number): number {
    return this.#template.writeId(this, target, begin)
  }

  get isItsOwnKey(): boolean {
    return true
  }

  get id(): string {
    return this.#template.idOf(this.bytes.subarray(this.start, this.idEnd))
  }

  get tag(): number {
    if (this.partitionKeyBytes >= idBuffer.length) return tagOf(this.id)
    idBuffer[this.writeKey(idBuffer, 0)] = quote
    return tagAt(idBuffer, 0)
  }
}
