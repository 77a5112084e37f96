/** Dead letters: the original bytes, with the reason and the origin in the headers. */
import { gunzipSync, gzipSync } from 'node:zlib'
import { payloadHeadroomBytes } from '../../ground/core/limits.js'
import {
  deadAuditsSubject,
  deadEventsSubject,
  deadLetterHeaders,
  deadRecordsSubject,
  encodingHeader,
  historyHeader,
} from './names.js'

/** The first 1 KiB of a server's answer, and a sentence around it. */
const reasonCharsMax = 1_300

export interface DeadLetter {
  readonly data: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Header values are one line of text, as UTF-8, without the character that stands for any text in a pattern of reasons. */
export const headerText = (text: string): string =>
  text.slice(0, reasonCharsMax).replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029…]/gu, '?')

/** `texts` become headers, without control characters; bytes that do not fit a message are truncated. */
export function deadLetter(
  bytes: Uint8Array,
  texts: Readonly<Record<string, string>>,
  payloadBytesMax: number,
): DeadLetter {
  const room = payloadBytesMax - payloadHeadroomBytes
  const headers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, headerText(text)]))
  if (bytes.length <= room) return { data: bytes, headers }
  return {
    data: bytes.subarray(0, room),
    headers: { ...headers, [deadLetterHeaders.originalSize]: String(bytes.length) },
  }
}

const gzip = 'gzip'
/** Fewer bytes stay as everyone can read them. */
const compressedBytesMin = 1024
/** Those of letters that share a message are far fewer; this is for what Weir did not store. */
const storedBytesMax = 64 * 1024 * 1024

/**
 * Bad lines of a compressed message take storage in proportion to what was sent, which may be a thousandth of their bytes:
 * they are stored compressed, too.
 */
export function compressedLetter(letter: DeadLetter): DeadLetter {
  if (letter.data.length < compressedBytesMin) return letter
  const headers = { ...letter.headers, [deadLetterHeaders.storedAs]: gzip }
  return { data: gzipSync(letter.data, { level: 1 }), headers }
}

/** The bytes of a stored message of letters. What can't be inflated is shown as it is stored. */
export function letterBytes(data: Uint8Array, headerOf: (name: string) => string): Uint8Array {
  if (headerOf(deadLetterHeaders.storedAs) !== gzip) return data
  try {
    return gunzipSync(data, { maxOutputLength: storedBytesMax })
  } catch {
    return data
  }
}

export const deadLetterTypes = ['record', 'event', 'audit'] as const
export type DeadLetterType = (typeof deadLetterTypes)[number]

/** The origin of a dead letter, from its headers. */
export interface DeadLetterOrigin {
  readonly reason: string
  /** The message of a record or an audit event. */
  readonly sequence: number | null
  /** The line of a record in its message. */
  readonly line: number | null
  /** The subject that an audit event was published on. */
  readonly subject: string | null
  /** The destination that an event could not be delivered to; its id and its account follow. */
  readonly destinationId: string | null
  readonly eventId: string | null
  readonly accountId: string | null
  /** How the bytes are encoded that a message of records had as a whole; null if they are not. */
  readonly encoding: string | null
  /** The use of a record of the past, as its message said; null if it is one of now. */
  readonly history: string | null
  /** Before it was truncated; null if it was not. */
  readonly originalSize: number | null
}

/** `headerOf`: '' for a header that is missing. */
export function originIn(headerOf: (name: string) => string): DeadLetterOrigin {
  const text = (name: string): string | null => headerOf(name) || null
  const count = (name: string): number | null => (headerOf(name) === '' ? null : Number(headerOf(name)))
  return {
    reason: headerOf(deadLetterHeaders.reason),
    sequence: count(deadLetterHeaders.sequence),
    line: count(deadLetterHeaders.line),
    subject: text(deadLetterHeaders.subject),
    destinationId: text(deadLetterHeaders.destination),
    eventId: text(deadLetterHeaders.eventId),
    accountId: text(deadLetterHeaders.account),
    encoding: text(encodingHeader),
    history: text(historyHeader),
    originalSize: count(deadLetterHeaders.originalSize),
  }
}

/** Undefined for a subject that is none of a dead letter. */
export const deadLetterTypeOf = (subject: string): DeadLetterType | undefined => typesBySubject[subject]

const typesBySubject: Readonly<Record<string, DeadLetterType>> = {
  [deadRecordsSubject]: 'record',
  [deadEventsSubject]: 'event',
  [deadAuditsSubject]: 'audit',
}
