/** The place that the reason of a dead letter names: where its JSON ends to be JSON, or the member that is wrong. */
import { isUtf8 } from 'node:buffer'
import { placeIn, syntaxErrorIndex } from '../core/text/json-place.js'
import type { DeadLetterPlace } from '../shape/dead-letter.js'

/** Characters of the excerpt before and after the place. */
const aroundChars = 40

interface TextPlace {
  /** In UTF-16 units. */
  readonly index: number
  readonly member: string | null
}

/** Null if the reason names no place. */
export function placeOfReason(reason: string, bytes: Uint8Array): DeadLetterPlace | null {
  const text = Buffer.from(bytes).toString()
  const found = isUtf8(bytes) ? placeInText(reason, text) : { index: text.indexOf('\ufffd'), member: null }
  if (found === undefined) return null
  const before = text.slice(0, found.index)
  const lines = before.split('\n')
  const start = Math.max(0, found.index - aroundChars)
  return {
    offset: Buffer.byteLength(before),
    line: lines.length,
    column: [...lines.at(-1)!].length + 1,
    member: found.member,
    // Each character stays one, so that the mark fits.
    excerpt: text.slice(start, found.index + aroundChars).replaceAll(/\s/g, ' '),
    mark: found.index - start,
  }
}

function placeInText(reason: string, text: string): TextPlace | undefined {
  const error = syntaxErrorIndex(text)
  if (error !== undefined) return { index: error, member: null }
  const [, member] = /^"([^"]+)" (?:is|has|names)\b/.exec(reason) ?? []
  if (member === undefined) return undefined
  const place = placeIn(text, member.split('.'))
  return place && { index: place.index, member: place.path.join('.') || null }
}
