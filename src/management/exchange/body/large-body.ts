/**
 * Parses a large body in pieces, so that other requests are served meanwhile and no second copy of it is made: the
 * elements of each list that is a member of the body, some at a time, and the text outside of these lists.
 *
 *     {"rules": [{"cidr": …}, {"cidr": …}, …]}  ▸  [{"cidr": …}, {"cidr": …}] and so on, and {"rules": [0]}
 *
 * The cuts are made in bytes, at commas outside of strings. Each piece is parsed like a small body, so exactly the same
 * bodies are valid.
 */
import { WeirError } from '../../../ground/core/errors.js'
import {
  ipListEntriesMax,
  jsonNestingMax,
  requestBodyBytesMax,
  requestValuesMax,
} from '../../../ground/core/limits.js'
import type { Slices } from '../../../ground/core/slices.js'
import { decoded, invalid, parseLossless, tooDeep, tooManyValues } from './json-body.js'

/** A piece takes about a millisecond. */
const pieceBytesTarget = 64 * 1024
/** Bytes that are scanned between two looks at the clock: a power of two. */
const scannedBytes = 64 * 1024

interface Piece {
  readonly from: number
  readonly to: number
  /** Keys of all objects in it. */
  readonly keys: number
  /** Elements of the list that was opened last; undefined for the text outside of lists. */
  readonly place?: 'first' | 'middle' | 'last' | 'only'
}

/** Rejects with a `WeirError`, or as the slices do at a pause. `bytesTarget`: of a piece. */
export async function parseLargeBody(
  body: Buffer,
  slices: Slices,
  bytesTarget = pieceBytesTarget,
): Promise<unknown> {
  const parsed = new ParsedPieces(body)
  for (const piece of piecesOf(body, bytesTarget)) {
    if (slices.isDue()) await slices.pause()
    if (piece !== undefined) parsed.add(piece)
  }
  return parsed.whole()
}

/** The pieces in their order; undefined where the scan may pause. */
function* piecesOf(body: Buffer, bytesTarget: number): Generator<Piece | undefined> {
  let from = 0
  let keys = 0
  let depth = 0
  let inString = false
  /** How many pieces of the present list were cut; undefined outside of lists. */
  let cuts: number | undefined
  /** Objects, lists, members and elements outside of lists, and in the present element of one. */
  let valuesOutside = 0
  let valuesInElement = 0
  const count = (): void => {
    if (cuts === undefined) valuesOutside += 1
    else valuesInElement += 1
    if (Math.max(valuesOutside, valuesInElement) > requestValuesMax) throw tooManyValues(requestValuesMax)
  }
  const cut = (to: number, place?: Piece['place']): Piece => {
    if (to - from > requestBodyBytesMax) throw tooLarge()
    const piece = { from, to, keys, ...(place === undefined ? {} : { place }) }
    from = to
    keys = 0
    return piece
  }
  for (let index = 0; index < body.length; index += 1) {
    if (index % scannedBytes === 0) yield undefined
    const byte = body[index]
    if (inString) {
      if (byte === backslash) index += 1
      else if (byte === quote) inString = false
    } else if (byte === quote) inString = true
    else if (byte === colon) keys += 1
    else if (byte === comma && cuts !== undefined && depth === 2) {
      valuesInElement = 0
      if (index - from < bytesTarget) continue
      yield cut(index, cuts === 0 ? 'first' : 'middle')
      from += 1
      cuts += 1
    } else if (byte === comma) count()
    else if (byte === openBrace || byte === openBracket) {
      count()
      depth += 1
      if (depth > jsonNestingMax) throw tooDeep()
      if (depth !== 2 || byte !== openBracket) continue
      yield cut(index + 1)
      cuts = 0
      valuesInElement = 0
    } else if (byte === closeBrace || byte === closeBracket) {
      if (cuts !== undefined && depth === 2) {
        yield cut(index, cuts === 0 ? 'only' : 'last')
        cuts = undefined
      }
      depth -= 1
    }
  }
  if (cuts !== undefined) yield cut(body.length, cuts === 0 ? 'only' : 'last')
  yield cut(body.length)
}

class ParsedPieces {
  readonly #body: Buffer
  readonly #lists: unknown[][] = []
  /** The text outside of lists; each list has its number as its only element. */
  #outside = ''
  #keysOutside = 0
  /** Where parts of that text begin, there and in the body. */
  readonly #parts: { readonly at: number; readonly place: number }[] = []
  /** Characters before the next piece. */
  #chars = 0

  constructor(body: Buffer) {
    this.#body = body
  }

  add({ from, to, keys, place }: Piece): void {
    const text = decoded(this.#body.subarray(from, to), { ignoreBOM: from > 0 })
    if (place === undefined) this.#addOutside(text, keys)
    else this.#addElements(text, keys, place)
    this.#chars += text.length
  }

  #addOutside(text: string, keys: number): void {
    // The number of the list before it stands in the text, but not in the body.
    if (this.#parts.length > 0) this.#outside += String(this.#lists.length - 1)
    this.#parts.push({ at: this.#outside.length, place: this.#chars })
    this.#outside += text
    this.#keysOutside += keys
  }

  #addElements(text: string, keys: number, place: NonNullable<Piece['place']>): void {
    const before = this.#chars
    const elements = parseLossless(`[${text}]`, keys, (offset) => before + offset - 1) as unknown[]
    if (elements.length === 0 && place !== 'only')
      throw invalid(`The body is not valid JSON: ValueExpected at character ${before + text.length + 1}.`)
    if (place === 'first' || place === 'only') this.#lists.push(elements)
    else for (const element of elements) this.#lists.at(-1)!.push(element)
    if (this.#lists.at(-1)!.length > ipListEntriesMax)
      throw invalid(`A list of the body has more than ${ipListEntriesMax} elements.`)
    // The comma at the cut.
    if (place === 'first' || place === 'middle') this.#chars += 1
  }

  /** The value; undefined for a body of white space. */
  whole(): unknown {
    if (this.#outside.trim() === '') return undefined
    const root = parseLossless(this.#outside, this.#keysOutside, (offset) => this.#placeOf(offset))
    if (typeof root !== 'object' || root === null) return root
    if (Array.isArray(root)) return root.map((element) => this.#filled(element))
    // Object.fromEntries creates an own property even for "__proto__", as JSON.parse does.
    return Object.fromEntries(Object.entries(root).map(([name, member]) => [name, this.#filled(member)]))
  }

  /** Every list in this place was cut out. */
  #filled(member: unknown): unknown {
    return Array.isArray(member) ? this.#lists[member[0]] : member
  }

  #placeOf(offset: number): number {
    const part = this.#parts.findLast(({ at }) => at <= offset)
    return part === undefined ? offset : part.place + offset - part.at
  }
}

const tooLarge = (): WeirError =>
  new WeirError(
    'ERR_BODY_TOO_LARGE',
    `The body is too large: outside of its lists, and in each entry of one, at most ${requestBodyBytesMax} bytes are allowed.`,
  )

const [quote, backslash, colon, comma] = [0x22, 0x5c, 0x3a, 0x2c]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]
