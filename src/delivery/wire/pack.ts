/**
 * A **pack** is one NATS message that holds many events of one destination. It is text, of lines of four kinds:
 *
 *     <partition key> SP <timestamp, ms since the epoch> SP <event as JSON> LF       an event as a whole
 *     = <piece> TAB <piece> … LF                                                     a template, numbered from 0
 *     @ <timestamp, ms since the epoch> LF                                           the time of the events that follow
 *     # <number of a template> TAB <value> TAB <value> … LF                          an event of this template
 *
 * A template holds the text that all events of a source share (`event-template.ts`), so that a traffic event takes a third
 * of the bytes of its JSON on the way to a deliverer, and while it waits for its destination.
 *
 * JSON contains no raw control character (JSON.stringify writes none) and always begins with `{"event_id":"`, so the id is
 * found without parsing. A partition key contains no space, and begins with none of the characters that mark a line.
 */
import { bufferOf } from '../../ground/core/bytes.js'
import { timeMsMax } from '../../ground/core/limits.js'
import { defaultBufferBytes, JsonBytes } from '../../ground/core/text/json-bytes.js'
import { EventTemplate, EventTime, eventHead, kindIn } from './event-template.js'
import { type PackedEvent, TemplatedEvent, WholeEvent } from './packed-event.js'

const space = 0x20
const tab = 0x09
const lineFeed = 0x0a
const quote = 0x22
const digitZero = 0x30
const digitNine = 0x39
const templateMark = '='.charCodeAt(0)
const timeMark = '@'.charCodeAt(0)
const valuesMark = '#'.charCodeAt(0)

const eventHeadBytes = Buffer.from(eventHead)
const noBytes = Buffer.alloc(0)

/** A traffic event in the parts that a pack holds. */
export interface EventParts {
  readonly template: EventTemplate
  /** The part of its id that all events of its record share; the values of its fields, each behind a tab; a line feed. */
  readonly line: Uint8Array
}

/** Summary of a pack's events: the books need it if the pack is lost. */
export interface PackSummary {
  readonly events: number
  /** By kind. */
  readonly kinds: readonly (readonly [kind: string, events: number])[]
  /** The times of the oldest and the newest event: milliseconds since the epoch. */
  readonly first: number
  readonly last: number
}

/** A template of a pack. */
interface UsedTemplate {
  readonly template: EventTemplate | undefined
  /** How the lines of its events begin. */
  readonly lineHead: Uint8Array
  events: number
}

const noTemplate = (): UsedTemplate => ({ template: undefined, lineHead: noBytes, events: 0 })

/** Appends events to a growing buffer; `take` returns the pack and starts the next one. */
export class PackWriter {
  #lines = new JsonBytes()
  #events = 0
  /** The time of the last traffic event; many in a row have the same. */
  #timestampMs = Number.NaN
  #firstMs = Number.POSITIVE_INFINITY
  #lastMs = Number.NEGATIVE_INFINITY
  #used = noTemplate()
  #templates = new Map<EventTemplate, UsedTemplate>()
  /** Events that have no template, by kind. */
  #whole = new Map<string, number>()

  get byteLength(): number {
    return this.#lines.byteLength
  }

  get events(): number {
    return this.#events
  }

  append(partitionKey: string, timestampMs: number, json: string): void {
    this.#lines.text(`${partitionKey} ${timestampMs} ${json}\n`)
    this.#events += 1
    this.#noteTime(timestampMs)
    const kind = kindIn(json)
    this.#whole.set(kind, (this.#whole.get(kind) ?? 0) + 1)
  }

  appendParts({ template, line }: EventParts, timestampMs: number): void {
    const lines = this.#lines
    if (timestampMs !== this.#timestampMs) {
      this.#timestampMs = timestampMs
      this.#noteTime(timestampMs)
      lines.text(`@${timestampMs}\n`)
    }
    if (template !== this.#used.template)
      this.#used = this.#templates.get(template) ?? this.#addTemplate(template)
    lines.bytes(this.#used.lineHead)
    lines.bytes(line)
    this.#used.events += 1
    this.#events += 1
  }

  #addTemplate(template: EventTemplate): UsedTemplate {
    this.#lines.byte(templateMark)
    this.#lines.bytes(template.line)
    this.#lines.byte(lineFeed)
    const lineHead = Buffer.from(`#${this.#templates.size}\t`)
    const used = { template, lineHead, events: 0 }
    this.#templates.set(template, used)
    return used
  }

  #noteTime(ms: number): void {
    if (ms < this.#firstMs) this.#firstMs = ms
    if (ms > this.#lastMs) this.#lastMs = ms
  }

  /** Summary of the pack that `take` will return; it must hold an event. */
  summary(): PackSummary {
    const kinds = new Map(this.#whole)
    for (const [{ line }, { events }] of this.#templates) {
      const kind = kindIn(line.toString('latin1'))
      kinds.set(kind, (kinds.get(kind) ?? 0) + events)
    }
    return { events: this.#events, kinds: [...kinds], first: this.#firstMs, last: this.#lastMs }
  }

  /** The pack's bytes, which the caller owns from now on; empty if nothing was appended. */
  take(): Uint8Array {
    const pack = this.#lines.take()
    // A writer keeps no pack's buffer, for many wait for events. The next pack is likely to be as large.
    this.#lines = new JsonBytes(Math.max(defaultBufferBytes, pack.length))
    this.#events = 0
    this.#timestampMs = Number.NaN
    this.#firstMs = Number.POSITIVE_INFINITY
    this.#lastMs = Number.NEGATIVE_INFINITY
    this.#used = noTemplate()
    if (this.#templates.size > 0) this.#templates = new Map()
    if (this.#whole.size > 0) this.#whole = new Map()
    return pack
  }
}

/** A line of a pack that no `PackWriter` wrote: it is reported and not sent, and never causes an exception. */
interface MalformedLine {
  /** Counted from 1. */
  readonly line: number
  readonly reason: string
  readonly bytes: Buffer
}

export interface Pack {
  readonly events: readonly PackedEvent[]
  readonly malformed: readonly MalformedLine[]
}

/** The events of a pack, in order. The bytes must not change while an event is in use. */
export function readPack(bytes: Uint8Array): Pack {
  const pack = bufferOf(bytes)
  const reader = new PackReader(pack)
  const malformed: MalformedLine[] = []
  let line = 0
  for (let start = 0; start < pack.length; ) {
    line += 1
    const lineEnd = pack.indexOf(lineFeed, start)
    const end = lineEnd === -1 ? pack.length : lineEnd + 1
    const reason = lineEnd === -1 ? 'The line has no end.' : reader.read(start, end)
    if (reason !== undefined) malformed.push({ line, reason, bytes: pack.subarray(start, end) })
    start = end
  }
  return { events: reader.events, malformed }
}

/** Reads line after line; each time returns the reason why the line is malformed. */
class PackReader {
  readonly events: PackedEvent[] = []
  readonly #pack: Buffer
  /** By their numbers; undefined if malformed. */
  readonly #templates: (EventTemplate | undefined)[] = []
  #time: EventTime | undefined

  constructor(pack: Buffer) {
    this.#pack = pack
  }

  /** The line is between `start` and `end`, including its line feed. */
  read(start: number, end: number): string | undefined {
    switch (this.#pack[start]) {
      case valuesMark:
        return this.#readValues(start + 1, end)
      case timeMark:
        return this.#readTime(start + 1, end)
      case templateMark:
        return this.#readTemplate(start + 1, end)
      default:
        return this.#readWhole(start, end)
    }
  }

  #readTemplate(start: number, end: number): string | undefined {
    const template = EventTemplate.from(this.#pack.subarray(start, end - 1))
    const isTemplate = typeof template !== 'string'
    this.#templates.push(isTemplate ? template : undefined)
    return isTemplate ? undefined : template
  }

  #readTime(start: number, end: number): string | undefined {
    const ms = this.#timestampAt(start, end - 1)
    this.#time = ms === undefined ? undefined : EventTime.of(ms)
    return this.#time === undefined ? 'The line has no timestamp.' : undefined
  }

  #readValues(numberStart: number, end: number): string | undefined {
    const pack = this.#pack
    let start = numberStart
    let number = 0
    while (isDigit(pack[start]!)) number = number * 10 + pack[start++]! - digitZero
    const template = this.#templates[number]
    if (start === numberStart || pack[start] !== tab || template === undefined)
      return 'The event has no template.'
    if (this.#time === undefined) return 'The event has no time.'
    start += 1
    let idEnd = start
    while (pack[idEnd]! >= space) idEnd += 1
    if (idEnd === start) return 'The event has no id.'
    let values = 0
    for (let index = idEnd; index < end - 1; index += 1) if (pack[index]! < space) values += 1
    if (values !== template.values) return `The event has ${values} values instead of ${template.values}.`
    this.events.push(new TemplatedEvent({ bytes: pack, start, idEnd, end }, template, this.#time))
    return undefined
  }

  #readWhole(start: number, end: number): string | undefined {
    const pack = this.#pack
    const keyEnd = endOfPart(pack, space, start, end)
    if (keyEnd === end || keyEnd === start) return 'The line has no partition key.'
    const timeEnd = endOfPart(pack, space, keyEnd + 1, end)
    const ms = timeEnd === end ? undefined : this.#timestampAt(keyEnd + 1, timeEnd)
    if (ms === undefined || ms > timeMsMax) return 'The line has no timestamp.'
    const dataStart = timeEnd + 1
    const headEnd = dataStart + eventHead.length
    const isHead =
      headEnd < end && pack.compare(eventHeadBytes, 0, eventHead.length, dataStart, headEnd) === 0
    if (!isHead) return `The event does not begin with ${eventHead}.`
    const idEnd = endOfPart(pack, quote, headEnd, end)
    if (idEnd === end || idEnd === headEnd) return 'The event has no id.'
    this.events.push(new WholeEvent(pack, start, keyEnd, dataStart, end))
    return undefined
  }

  /** The integer between `start` and `end`; undefined if there is anything else. */
  #timestampAt(start: number, end: number): number | undefined {
    let value = 0
    for (let index = start; index < end; index += 1) {
      if (!isDigit(this.#pack[index]!)) return undefined
      value = value * 10 + this.#pack[index]! - digitZero
    }
    return end > start && Number.isSafeInteger(value) ? value : undefined
  }
}

const isDigit = (byte: number): boolean => byte >= digitZero && byte <= digitNine

/**
 * Where the byte is, or the end of the line if it is not in it. The built-in search would look through the rest of the pack,
 * again for each line.
 */
function endOfPart(pack: Buffer, byte: number, start: number, end: number): number {
  let at = start
  while (at < end && pack[at] !== byte) at += 1
  return at
}
