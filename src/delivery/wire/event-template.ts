/**
 * The template of a source: the JSON that all of its events share, without the values. A pack holds it once, and of each
 * event only the values, which are a third of it.
 *
 * An event is made of **pieces** and **values** in turn, beginning and ending with a piece. The first value is the part of
 * its id that all events of its record share, the second its time; the values of its fields follow. JSON contains no raw
 * control character, so tabs separate what belongs together, and a line feed ends it.
 */
const tab = 0x09
const lineFeed = 0x0a
const space = 0x20
const quote = 0x22

/** The first bytes of every event. */
export const eventHead = '{"event_id":"'

/** A piece before its record's part of the id, one between this and the time, and one behind the time. */
const piecesMin = 3
/** For so few bytes, a loop is faster than a call. */
const loopedBytesMax = 32
const noBytes = Buffer.alloc(0)

/** The time of an event. */
export class EventTime {
  /** Milliseconds since the epoch. */
  readonly ms: number
  /** RFC 3339 with milliseconds, in ASCII. */
  readonly text: Uint8Array

  private constructor(ms: number, text: string) {
    this.ms = ms
    this.text = Buffer.from(text)
  }

  /** Undefined if it is beyond all dates. */
  static of(ms: number): EventTime | undefined {
    const date = new Date(ms)
    return Number.isNaN(date.getTime()) ? undefined : new EventTime(ms, date.toISOString())
  }
}

/** The values of an event in a line: from `start` to a line feed before `end`, the part of its id until `idEnd`. */
export interface ValueLine {
  readonly bytes: Uint8Array
  readonly start: number
  readonly idEnd: number
  readonly end: number
}

export class EventTemplate {
  /** Its pieces, each but the last followed by a tab. */
  readonly line: Buffer
  readonly #pieces: readonly Buffer[]
  /** The parts of the id before and behind that of the record. */
  readonly #idHead: Buffer
  readonly #idTail: Buffer
  /** By how much more than its line of values, line feed included, an event is longer, without its time. */
  readonly #moreBytes: number
  /** The time that was written last, and the bytes with it. */
  #time: EventTime | undefined
  #timed = noBytes

  private constructor(line: Buffer, pieces: readonly Buffer[]) {
    const [first, second] = pieces as [Buffer, Buffer]
    this.line = line
    this.#pieces = pieces
    this.#idHead = first.subarray(eventHead.length)
    this.#idTail = second.subarray(0, second.indexOf(quote))
    this.#moreBytes = pieces.reduce((sum, { length }) => sum + length, 0) - this.values
  }

  /** The pieces contain no control character; at least three. */
  static of(pieces: readonly string[]): EventTemplate {
    const template = EventTemplate.from(Buffer.from(pieces.join('\t')))
    if (typeof template === 'string') throw new Error(template)
    return template
  }

  /** The reason why it is none, if the line begins otherwise than an event does, or holds too few pieces. */
  static from(line: Buffer): EventTemplate | string {
    const pieces = piecesOf(line)
    if (pieces.length < piecesMin) return 'The template has too few pieces.'
    if (line.toString('latin1', 0, eventHead.length) !== eventHead)
      return `The template does not begin with ${eventHead}.`
    if (pieces[1]!.indexOf(quote) === -1) return 'The id has no end in the template.'
    return new EventTemplate(line, pieces)
  }

  /** How many values an event has behind the part of its id, each behind a tab. */
  get values(): number {
    return this.#pieces.length - piecesMin
  }

  /** The bytes of the event's JSON, and its line feed. */
  byteLength({ start, end }: ValueLine, time: EventTime): number {
    return this.#moreBytes + end - start + time.text.length
  }

  /** The length of the event's id. */
  idBytes({ start, idEnd }: ValueLine): number {
    return this.#idHead.length + idEnd - start + this.#idTail.length
  }

  /** The id of the event of this record: `ev_…`. */
  idOf(recordPart: Uint8Array): string {
    return Buffer.concat([this.#idHead, recordPart, this.#idTail]).toString('latin1')
  }

  /** Writes the event's id, in ASCII, to where there is room; returns where it ends. */
  writeId({ bytes, start, idEnd }: ValueLine, target: Uint8Array, begin: number): number {
    let at = put(target, begin, this.#idHead)
    for (let from = start; from < idEnd; from += 1) target[at++] = bytes[from]!
    return put(target, at, this.#idTail)
  }

  /** Writes the event's JSON, and a line feed, to where there is room; returns where that ends. */
  write({ bytes, start, idEnd }: ValueLine, time: EventTime, target: Uint8Array, begin: number): number {
    const pieces = this.#pieces
    let at = put(target, begin, pieces[0]!)
    for (let from = start; from < idEnd; from += 1) target[at++] = bytes[from]!
    at = put(target, at, this.#aroundTime(time))
    let from = idEnd + 1
    for (let index = piecesMin; index < pieces.length; index += 1) {
      for (let byte = bytes[from++]!; byte >= space; byte = bytes[from++]!) target[at++] = byte
      at = put(target, at, pieces[index]!)
    }
    target[at++] = lineFeed
    return at
  }

  /** The time and the pieces around it, which many events share. */
  #aroundTime(time: EventTime): Buffer {
    if (time !== this.#time) {
      const [, before, behind] = this.#pieces
      this.#time = time
      this.#timed = Buffer.concat([before!, time.text, behind!])
    }
    return this.#timed
  }
}

function piecesOf(line: Buffer): Buffer[] {
  const pieces: Buffer[] = []
  let start = 0
  for (let end = line.indexOf(tab); end !== -1; end = line.indexOf(tab, start)) {
    pieces.push(line.subarray(start, end))
    start = end + 1
  }
  return [...pieces, line.subarray(start)]
}

function put(target: Uint8Array, begin: number, bytes: Uint8Array): number {
  const { length } = bytes
  if (length > loopedBytesMax) target.set(bytes, begin)
  else for (let index = 0; index < length; index += 1) target[begin + index] = bytes[index]!
  return begin + length
}

/** How every event begins, as JSON and as a template, in which a tab stands for a part of the id. */
const kindForm = /^\{"event_id":"[^"]*","event_type":"([^"]*)"/

/** The kind of an event or of the events of a template, from its first bytes. */
export const kindIn = (text: string): string => kindForm.exec(text)?.[1] ?? unknownKind

export const unknownKind = 'unknown'
