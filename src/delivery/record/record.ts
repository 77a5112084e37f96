/**
 * Start here: records as ingress nodes publish them. A **message** holds one JSON record or several, one per **line**
 * (NDJSON). A record describes one connection or request that has ended. Members that the schema does not name are
 * ignored: no code of this room copies members by names that it got from outside. The room knows neither accounts nor
 * configuration.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { bufferOf } from '../../ground/core/bytes.js'
import { messageOf, ok, problem, type Result, shown } from '../../ground/core/errors.js'
import { recordBytesMax } from '../../ground/core/limits.js'
import { placeIn } from '../../ground/core/text/json-place.js'
import { complaintAboutRecord, type RecordRules } from './check.js'
import { RecordShapes } from './record-shapes.js'
import { spellAlike } from './spelling.js'
import type { TrafficRecord } from './traffic-record.js'

const lineFeed = 0x0a
const space = 0x20
const tab = 0x09
const carriageReturn = 0x0d

/** One line of a message. */
export class Line {
  /** Counted from 1, blank lines included. */
  readonly number: number
  /** Its position in the message. */
  readonly start: number
  readonly #message: Buffer
  readonly #text: string | undefined
  readonly #end: number

  /** `text` is that of the whole message if it is ASCII. */
  constructor(message: Buffer, text: string | undefined, number: number, start: number, end: number) {
    this.number = number
    this.#message = message
    this.#text = text
    this.start = start
    this.#end = end
  }

  get byteLength(): number {
    return this.#end - this.start
  }

  /** A view into the message. */
  get bytes(): Buffer {
    return this.#message.subarray(this.start, this.#end)
  }

  /** Undefined if it is not UTF-8. */
  get text(): string | undefined {
    return this.#text === undefined ? textOf(this.bytes) : this.#text.slice(this.start, this.#end)
  }
}

/** The lines of a message that are not blank. They are decoded together: a call for each takes a while. */
export function parseMessage(bytes: Uint8Array): Line[] {
  const message = bufferOf(bytes)
  const text = isAscii(message) ? message.toString('latin1') : undefined
  const lines: Line[] = []
  let number = 0
  for (let start = 0; start < message.length; ) {
    number += 1
    const lineEnd = message.indexOf(lineFeed, start)
    const end = lineEnd === -1 ? message.length : lineEnd
    if (!isBlank(message, start, end)) lines.push(new Line(message, text, number, start, end))
    start = end + 1
  }
  return lines
}

function isBlank(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index += 1) {
    const byte = bytes[index]
    if (byte !== space && byte !== tab && byte !== carriageReturn) return false
  }
  return true
}

/** Reads and normalizes one record; the problem is one sentence that names the member and its value. */
export function parseRecord(bytes: Uint8Array): Result<TrafficRecord> {
  const { byteLength } = bytes
  return recordOf(byteLength, byteLength > recordBytesMax ? undefined : textOf(bytes))
}

const shapes = new RecordShapes()

/** `parseRecord` for a line of a message: the same result, sooner if recent records were alike. */
export function parseLine(line: Line): Result<TrafficRecord> {
  const text = line.byteLength > recordBytesMax ? undefined : line.text
  const known = text === undefined ? undefined : shapes.read(text)
  if (known !== undefined) return checked(known, text!, { readByPattern: true })
  const record = recordOf(line.byteLength, text)
  if (record.ok) shapes.missed(text!, record.value.type)
  return record
}

function recordOf(byteLength: number, text: string | undefined): Result<TrafficRecord> {
  const parsed = parseText({ byteLength, text })
  return parsed.ok ? checked(parsed.value, text!) : parsed
}

function checked(value: unknown, text: string, rules?: RecordRules): Result<TrafficRecord> {
  const complaint = complaintAboutRecord(value, rules)
  return complaint === undefined
    ? ok(spellAlike(value as TrafficRecord))
    : problem(withNumberAsSent(complaint, text))
}

/** A question of an ingress node, before it lets a connection in. */
export interface DecisionRequest {
  readonly record: TrafficRecord
  readonly explain: boolean
}

/** Reads a record from parsed JSON; `record_id` may be missing, and `explain` may be one of its members. */
export function parseDecisionRequest(value: unknown): Result<DecisionRequest> {
  const complaint = complaintAboutRecord(value, { recordIdRequired: false })
  if (complaint !== undefined) return problem(complaint)
  const request = value as TrafficRecord & { readonly explain?: unknown }
  const explain = request.explain ?? false
  if (typeof explain !== 'boolean')
    return problem(`"explain" is ${shown(explain)}; it must be true or false.`)
  return ok({ record: spellAlike(request), explain })
}

/** Any JSON value of at most 64 KiB. */
export const parseJson = (bytes: Uint8Array): Result<unknown> =>
  parseText({
    byteLength: bytes.byteLength,
    get text() {
      return textOf(bytes)
    },
  })

export const tooLarge = (bytes: number): string =>
  `It has ${bytes} bytes; at most ${recordBytesMax} are allowed.`

/** The text is asked for only if it is short enough. */
function parseText(given: Pick<Line, 'byteLength' | 'text'>): Result<unknown> {
  const { byteLength } = given
  if (byteLength > recordBytesMax) return problem(tooLarge(byteLength))
  const { text } = given
  if (text === undefined) return problem('It is not UTF-8.')
  const fault = plainFault(text)
  if (fault !== undefined) return problem(`It is not JSON: ${fault}.`)
  const { stackTraceLimit } = Error
  // No one reads the stack of a SyntaxError, and making it takes longer than the parse of a record.
  Error.stackTraceLimit = 0
  try {
    return ok(JSON.parse(text))
  } catch (error) {
    return problem(`It is not JSON: ${messageOf(error)}.`)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

const ends: Readonly<Record<string, string>> = { '{': '}', '[': ']', '"': '"' }
const scalarForm = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/
const shownChars = 20

/**
 * Finds text that is no JSON by its first and last character: half a million such lines fit a message, and an error of
 * JSON.parse takes ten times as long. Undefined if only a parser can say.
 */
function plainFault(text: string): string | undefined {
  // Some of the spaces that this removes are none in JSON: a parser finds that.
  const value = text.trim()
  const end = ends[value[0] ?? '']
  if (end === undefined)
    return scalarForm.test(value) ? undefined : `no value is written ${shown(value, shownChars)}`
  return value.length > 1 && value.endsWith(end) ? undefined : `it does not end with ${end}`
}

/** The text of the bytes; undefined if they are not UTF-8. Most are ASCII, which is decoded three times as fast. */
function textOf(bytes: Uint8Array): string | undefined {
  const buffer = bufferOf(bytes)
  if (isAscii(buffer)) return buffer.toString('latin1')
  return isUtf8(buffer) ? buffer.toString('utf8') : undefined
}

/** A complaint that shows a number; those beyond all doubles are shown as null. */
const shownForm = /^"([\w.]+)" is (-?\d[\d.e+-]*|null); it must be /
const numberForm = /-?\d[\d.eE+-]*/y
const shownCharsMax = 80

/**
 * Parsing changes a number with more digits than a double has. A complaint about it shows the number as it was sent, from
 * the text of the record.
 */
function withNumberAsSent(complaint: string, text: string): string {
  const [, member, value] = shownForm.exec(complaint) ?? []
  if (member === undefined || value === undefined || Number.isSafeInteger(Number(value))) return complaint
  numberForm.lastIndex = placeIn(text, member.split('.'))?.index ?? text.length
  const [sent] = numberForm.exec(text) ?? []
  if (sent === undefined) return complaint
  const shown = sent.length <= shownCharsMax ? sent : `${sent.slice(0, shownCharsMax)}…`
  return complaint.replace(`is ${value};`, () => `is ${shown};`)
}
