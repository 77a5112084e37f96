/** Entries of lists of addresses: a range each, with a comment and the time at which it ends. */
import type { Result } from '../errors.js'
import { ok } from '../errors.js'
import { formatCidr, parseCidr } from './cidr.js'

export interface ListEntry {
  /** In canonical form. */
  readonly cidr: string
  readonly comment: string | null
  /** Milliseconds since the epoch; null if it never ends. */
  readonly expiresAt: number | null
}

/** A range in a JSON value, before it is known to be one, and where it stands. */
export interface FoundEntry {
  readonly place: string
  readonly cidr: unknown
  readonly comment?: string | null | undefined
  readonly expires?: string | null | undefined
  /** Its problem apart from these values. */
  readonly wrong?: string | undefined
}

/** Longer comments are cut: a feed's texts are not worth the refusal of all its ranges. */
export const commentCharsMax = 200

const unwanted = /[\p{Cc}\p{Surrogate}]+/gu

/** One line of text without control characters; null if nothing is left. */
export function commentOf(text: string | null | undefined): string | null {
  if (!text) return null
  // Cut by characters: half of one can't be stored.
  const clean = text
    .slice(0, 4 * commentCharsMax)
    .replaceAll(unwanted, ' ')
    .trim()
  if (clean === '') return null
  return clean.length <= commentCharsMax ? clean : [...clean].slice(0, commentCharsMax).join('').trimEnd()
}

/** The canonical spelling of a range. Lists come from many programs, so bits after the prefix are cleared, not refused. */
export function canonicalRange(text: unknown): Result<string> {
  const parsed = parseCidr(text, { hostBits: 'allow' })
  return parsed.ok ? ok(formatCidr(parsed.value)) : parsed
}

const tab = '\t'

/** As it is stored: a line of a few fields. Neither a range nor a comment contains a tab. */
export function lineOf({ cidr, comment, expiresAt }: ListEntry): string {
  if (comment === null) return expiresAt === null ? cidr : `${cidr}${tab}${expiresAt}`
  return `${cidr}${tab}${expiresAt ?? ''}${tab}${comment}`
}

/** The opposite of `lineOf`. */
export function entryOf(line: string): ListEntry {
  const first = line.indexOf(tab)
  if (first === -1) return { cidr: line, comment: null, expiresAt: null }
  const second = line.indexOf(tab, first + 1)
  const time = second === -1 ? line.slice(first + 1) : line.slice(first + 1, second)
  return {
    cidr: line.slice(0, first),
    comment: second === -1 ? null : line.slice(second + 1),
    expiresAt: time === '' ? null : Number(time),
  }
}

/** The stored lines of a text, one by one. */
export function* linesIn(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start)
    if (end === -1) {
      yield text.slice(start)
      return
    }
    yield text.slice(start, end)
    start = end + 1
  }
}
