/**
 * Ids of traffic events: the same record gives the same ids again, so that consumers can drop repeats.
 *
 * An id is 128 bits of one hash of the record and one of what the event is for, combined by exclusive or: the
 * former is worked out once per record however many events it causes, the latter once per subscription.
 */
import { hash } from 'node:crypto'

/** 128 bits as four 32-bit words. */
export interface Hash128 {
  readonly word0: number
  readonly word1: number
  readonly word2: number
  readonly word3: number
}

/** The part of the record: its account and its own id, which is unique there. */
export const recordHash = (accountId: string, recordId: string): Hash128 =>
  // An account's id holds no line feed, so the two never run into one another.
  hashOf(`${accountId}\n${recordId}`)

/**
 * The part of what the event is for: the kind and the subscription, and for `log.v0` the policy and which of its
 * actions.
 */
export const purposeHash = (...parts: readonly (string | number)[]): Hash128 => hashOf(JSON.stringify(parts))

function hashOf(text: string): Hash128 {
  const digest = hash('sha256', text, 'binary')
  return {
    word0: wordAt(digest, 0),
    word1: wordAt(digest, 4),
    word2: wordAt(digest, 8),
    word3: wordAt(digest, 12),
  }
}

const wordAt = (digest: string, at: number): number =>
  (digest.charCodeAt(at) << 24) |
  (digest.charCodeAt(at + 1) << 16) |
  (digest.charCodeAt(at + 2) << 8) |
  digest.charCodeAt(at + 3)

/** Crockford's alphabet, the one of ULIDs: letters and digits that are not mistaken for one another. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Two letters for each ten bits. */
const pairs = Array.from({ length: 1024 }, (_, bits) => alphabet[bits >> 5]! + alphabet[bits & 31]!)

const prefix = 'ev_'

/** `ev_` and 26 letters: 128 bits, ten at a time, the last eight padded with zeros. */
export function eventId(record: Hash128, purpose: Hash128): string {
  const word0 = record.word0 ^ purpose.word0
  const word1 = record.word1 ^ purpose.word1
  const word2 = record.word2 ^ purpose.word2
  const word3 = record.word3 ^ purpose.word3
  return (
    prefix +
    pairs[word0 >>> 22]! +
    pairs[(word0 >>> 12) & 1023]! +
    pairs[(word0 >>> 2) & 1023]! +
    pairs[((word0 << 8) | (word1 >>> 24)) & 1023]! +
    pairs[(word1 >>> 14) & 1023]! +
    pairs[(word1 >>> 4) & 1023]! +
    pairs[((word1 << 6) | (word2 >>> 26)) & 1023]! +
    pairs[(word2 >>> 16) & 1023]! +
    pairs[(word2 >>> 6) & 1023]! +
    pairs[((word2 << 4) | (word3 >>> 28)) & 1023]! +
    pairs[(word3 >>> 18) & 1023]! +
    pairs[(word3 >>> 8) & 1023]! +
    pairs[(word3 << 2) & 1023]!
  )
}
