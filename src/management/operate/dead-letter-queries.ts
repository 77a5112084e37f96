/** Query parameters and answers that all operations on dead letters share. */
import { isUtf8 } from 'node:buffer'
import { deadLetterTypes } from '../../delivery/wire/dead-letter.js'
import { compileReasonPattern } from '../../delivery/wire/reason-pattern.js'
import { isoMillis } from '../../ground/core/clock.js'
import { badRequest, notFound, shown } from '../../ground/core/errors.js'
import { logFilterCharsMax } from '../../ground/core/limits.js'
import { Type } from '../../ground/core/schema.js'
import { placeIn as placeInJson, syntaxErrorIndex } from '../../ground/core/text/json-place.js'
import type { Links } from '../../words/resource/kind/define.js'
import type { DeadLetter, DeadLetterPlace, WholeDeadLetter } from '../../words/shape/dead-letter.js'
import {
  checkEverPresent,
  destinationResources,
  type HistoryReaders,
  timeOf,
  timeParameters,
} from '../exchange/query-values.js'
import type { DeadLetters, Sight } from './dead-letters.js'
import { type Letter, type LetterPlace, type LetterSearch, placeIn } from './letters-of-message.js'

export const deadLettersPath = '/dead_letters'

const text = (description: string) => Type.Optional(Type.String({ description }))

/** The parameters that select letters. */
export const selectingSchemas = {
  type: Type.Optional(Type.Enum([...deadLetterTypes], { description: 'What was set aside.' })),
  reason: text('Exactly this reason; `…` stands for any text, as in the reasons of groups.'),
  destination_id: text('Events for this destination.'),
  ...timeParameters,
}

export const selectingNames = Object.keys(selectingSchemas) as (keyof typeof selectingSchemas)[]

export type Selecting = { readonly [Name in keyof typeof selectingSchemas]?: string | undefined }

export function searchFor({ type, reason, destination_id, since, until }: Selecting): LetterSearch {
  for (const [name, value] of Object.entries({ reason, destination_id }))
    if (value === '' || (value?.length ?? 0) > reasonCharsMax)
      throw badRequest(`"${name}" must have 1 to ${reasonCharsMax} characters.`)
  const known = deadLetterTypes.find((each) => each === type)
  if (type !== undefined && known === undefined)
    throw badRequest(`"type" is ${shown(type)}: ${deadLetterTypes.join(', ')} are allowed.`)
  return {
    type: known,
    isReason: reason === undefined ? undefined : compileReasonPattern(reason),
    destinationId: destination_id,
    sinceMs: timeOf('since', since),
    untilMs: timeOf('until', until),
  }
}

/** Throws an error for the id of a destination that the account never had. */
export async function checkDestination(
  context: HistoryReaders,
  accountId: string,
  id: unknown,
): Promise<void> {
  if (typeof id === 'string' && id !== '')
    await checkEverPresent(context, accountId, 'destination_id', id, destinationResources)
}

/** A reason has at most 500 characters. */
const reasonCharsMax = 2 * logFilterCharsMax

/** The place of a letter in the list, which another one's id may name, too. */
export function placeOf(text: string | undefined): LetterPlace | undefined {
  if (text === undefined) return undefined
  const place = placeIn(text)
  if (place !== undefined) return place
  throw badRequest(`"before_id" is ${shown(text)}: the id of a dead letter is needed, "dl_" and digits.`)
}

export async function letterCalled(letters: DeadLetters, sight: Sight, id: string): Promise<Letter> {
  const letter = await letters.get(sight, id)
  if (letter !== undefined) return letter
  throw notFound(`There is no dead letter ${shown(id)}.`)
}

export const shownLetter = (
  { id, type, origin, storedAtMs, expiresAtMs, data }: Letter,
  links: Pick<Links, 'uri'>,
): DeadLetter => ({
  id,
  uri: links.uri(`${deadLettersPath}/${id}`),
  at: isoMillis(storedAtMs),
  expires_at: expiresAtMs === undefined ? null : isoMillis(expiresAtMs),
  type,
  reason: origin.reason,
  sequence: origin.sequence,
  line: origin.line,
  subject: origin.subject,
  destination_id: origin.destinationId,
  event_id: origin.eventId,
  size: origin.originalSize ?? data.length,
  is_truncated: origin.originalSize !== null,
})

export function wholeLetter(letter: Letter, links: Pick<Links, 'uri'>): WholeDeadLetter {
  const { data, origin } = letter
  const bytes = Buffer.from(data)
  const isText = isUtf8(bytes)
  return {
    ...shownLetter(letter, links),
    text: isText ? bytes.toString() : null,
    base64: isText ? null : bytes.toString('base64'),
    // The end of a part is no fault.
    place: origin.originalSize === null ? placeOfReason(origin.reason, bytes) : null,
  }
}

/** Characters of the excerpt before and after the place. */
const aroundChars = 40

interface TextPlace {
  /** In UTF-16 units. */
  readonly index: number
  readonly member: string | null
}

/**
 * The place that the reason of a dead letter names: where its JSON ends to be JSON, or the member that is wrong. Null if
 * it names none.
 */
function placeOfReason(reason: string, bytes: Uint8Array): DeadLetterPlace | null {
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
  const place = placeInJson(text, member.split('.'))
  return place && { index: place.index, member: place.path.join('.') || null }
}
