/**
 * Many bad records of one message share a stored message: alone, each of a hundred thousand lines of two bytes would take
 * a hundred times as much storage, and half a minute to store.
 *
 * The data are the lines, each followed by a line feed, and then an **index**, as JSON:
 *
 *     {"reasons": ["It is not JSON: …"], "runs": [gap, count, reason, …]}
 *
 * A run is `count` lines of the message in a row with one reason, after `gap` lines that are not here. The index may take
 * a few times as much room as the lines, whatever they are: once reasons have taken as much as the lines, further ones
 * are stored as their pattern, without the values that they quote.
 */
import { jsonOf } from '../../ground/core/bytes.js'
import { type DeadLetter, type DeadLetterOrigin, headerText, letterBytes, originIn } from './dead-letter.js'
import { deadLetterHeaders } from './names.js'
import { reasonPattern } from './reason-pattern.js'

/** A record that goes to the dead letters. */
export interface SharedRecord {
  /** Its line in the message, from 1. */
  readonly line: number
  readonly bytes: Uint8Array
  readonly reason: string
}

const lineFeed = 0x0a
/** Characters that reasons may take in addition to as many as the lines have, and those of their patterns. */
const reasonCharsFree = 1024
const patternCharsFree = 4 * 1024
const reasonLeftOut = 'Its reason was not stored, because its message has too many different ones.'

/** Data and headers of a stored message; the records are in the order of their lines. */
export function sharedDeadLetter(
  records: readonly SharedRecord[],
  origin: Readonly<Record<string, string>>,
): DeadLetter {
  const chunks = records.map(({ bytes }) => bytes)
  const length = chunks.reduce((sum, bytes) => sum + bytes.length + 1, 0)
  const index = Buffer.from(JSON.stringify(indexOf(records, length)))
  const data = Buffer.allocUnsafe(length + index.length)
  let end = 0
  for (const bytes of chunks) {
    data.set(bytes, end)
    end += bytes.length
    data[end++] = lineFeed
  }
  data.set(index, end)
  const [first] = records
  return {
    data,
    headers: {
      ...origin,
      [deadLetterHeaders.reason]: headerText(first!.reason),
      [deadLetterHeaders.line]: String(first!.line),
      [deadLetterHeaders.letters]: String(records.length),
      [deadLetterHeaders.index]: String(length),
    },
  }
}

interface Index {
  readonly reasons: readonly string[]
  readonly runs: readonly number[]
}

function indexOf(records: readonly SharedRecord[], bytes: number): Index {
  const reasons = new Reasons(bytes)
  const runs: number[] = []
  let next = 1
  let current = -1
  for (const { line, reason } of records) {
    const place = reasons.placeOf(reason)
    if (line === next && place === current) runs[runs.length - 2]! += 1
    else runs.push(line - next, 1, place)
    next = line + 1
    current = place
  }
  return { reasons: reasons.list, runs }
}

/** Different reasons, as many as there is room for. */
class Reasons {
  readonly #places = new Map<string, number>()
  #room: number

  constructor(bytes: number) {
    this.#room = bytes + reasonCharsFree
  }

  get list(): readonly string[] {
    return [...this.#places.keys()]
  }

  placeOf(reason: string): number {
    const text = headerText(reason)
    return (
      this.#placed(text, 0) ??
      this.#placed(reasonPattern(text), -patternCharsFree) ??
      this.#placed(reasonLeftOut, Number.NEGATIVE_INFINITY)!
    )
  }

  /** Undefined if less than `least` would remain of the room. */
  #placed(text: string, least: number): number | undefined {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    if (this.#room - text.length < least) return undefined
    this.#room -= text.length
    this.#places.set(text, this.#places.size)
    return this.#places.size - 1
  }
}

// --- reading ---

/** A dead letter of a stored message. */
export interface StoredLetter {
  readonly origin: DeadLetterOrigin
  readonly data: Uint8Array
}

/** The dead letters of a stored message; those of one that shares are in the order of their lines. */
export interface StoredLetters {
  readonly size: number
  /** Do they share the message? */
  readonly areShared: boolean
  reasonAt(index: number): string
  /** The line in the message of records, for letters that share a message. */
  lineAt(index: number): number
  at(index: number): StoredLetter
}

/** `headerOf`: '' for a header that is missing. A message with a malformed index is one letter. */
export function lettersIn(stored: Uint8Array, headerOf: (name: string) => string): StoredLetters {
  const data = letterBytes(stored, headerOf)
  const origin = originIn(headerOf)
  const indexStart = headerOf(deadLetterHeaders.index)
  const runs = indexStart === '' ? undefined : runsIn(data, Number(indexStart))
  return runs === undefined ? new LoneLetter(origin, data) : new SharedLetters(origin, data, runs)
}

class LoneLetter implements StoredLetters {
  readonly size = 1
  readonly areShared = false
  readonly #letter: StoredLetter

  constructor(origin: DeadLetterOrigin, data: Uint8Array) {
    this.#letter = { origin, data }
  }

  reasonAt(): string {
    return this.#letter.origin.reason
  }

  lineAt(): number {
    return this.#letter.origin.line ?? 0
  }

  at(): StoredLetter {
    return this.#letter
  }
}

/** Each letter of a message: its line, its reason, and where its bytes end. */
interface Runs {
  readonly lines: readonly number[]
  readonly reasons: readonly string[]
  readonly ends: readonly number[]
}

/** Undefined if the index is malformed. */
function runsIn(data: Uint8Array, indexStart: number): Runs | undefined {
  const index = parsedIndex(data.subarray(indexStart))
  if (index === undefined) return undefined
  const [lines, reasons, ends]: [number[], string[], number[]] = [[], [], []]
  let line = 0
  let end = -1
  for (let run = 0; run < index.runs.length; run += 3) {
    const [gap, count, reason] = index.runs.slice(run, run + 3) as [number, number, number]
    line += gap
    for (let left = count; left > 0; left -= 1) {
      line += 1
      end = data.indexOf(lineFeed, end + 1)
      if (end === -1 || end >= indexStart) return undefined
      lines.push(line)
      reasons.push(index.reasons[reason] ?? reasonLeftOut)
      ends.push(end)
    }
  }
  return { lines, reasons, ends }
}

function parsedIndex(bytes: Uint8Array): Index | undefined {
  try {
    const { reasons, runs } = jsonOf<Index>(bytes)
    const isIndex =
      Array.isArray(reasons) &&
      reasons.every((reason) => typeof reason === 'string') &&
      Array.isArray(runs) &&
      runs.length % 3 === 0 &&
      runs.every(isCount)
    return isIndex ? { reasons, runs } : undefined
  } catch {
    return undefined
  }
}

/** Lines are counted with numbers of 32 bits: sums of them are exact. */
const isCount = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32

class SharedLetters implements StoredLetters {
  readonly areShared = true
  readonly #origin: DeadLetterOrigin
  readonly #data: Uint8Array
  readonly #runs: Runs

  constructor(origin: DeadLetterOrigin, data: Uint8Array, runs: Runs) {
    this.#origin = origin
    this.#data = data
    this.#runs = runs
  }

  get size(): number {
    return this.#runs.lines.length
  }

  reasonAt(index: number): string {
    return this.#runs.reasons[index]!
  }

  lineAt(index: number): number {
    return this.#runs.lines[index]!
  }

  at(index: number): StoredLetter {
    const { ends } = this.#runs
    const start = index === 0 ? 0 : ends[index - 1]! + 1
    return {
      origin: { ...this.#origin, line: this.lineAt(index), reason: this.reasonAt(index) },
      data: this.#data.subarray(start, ends[index]),
    }
  }
}
