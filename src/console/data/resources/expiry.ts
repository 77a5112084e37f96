/** When something expires, in words and by urgency. */
import type { Tone } from '../../parts/words.js'
import { relative } from '../texts/format.js'

const dayMs = 24 * 60 * 60_000
/** As the overview has it: time enough to get a certificate. */
const soonMs = 30 * dayMs
const verySoonMs = 7 * dayMs
/** What never lasts longer, such as the certificate of a user for a day, expires as it should. */
const shortLivedMs = 8 * dayMs

interface Expiry {
  readonly tone: Tone
  readonly text: string
  /** To sort by: what expires next comes first, and what has expired, last. */
  readonly order: number
}

const never: Expiry = { tone: 'quiet', text: 'never', order: Number.MAX_SAFE_INTEGER - 1 }

/** `from`, `until`: RFC 3339; null: it never expires. */
export function expiryOf(from: string, until: string | null | undefined, nowMs: number): Expiry {
  if (until === null || until === undefined) return never
  const endMs = Date.parse(until)
  const leftMs = endMs - nowMs
  const text = relative(endMs, nowMs)
  if (leftMs <= 0) return { tone: 'bad', text: `expired ${text}`, order: Number.MAX_SAFE_INTEGER }
  const isShortLived = endMs - Date.parse(from) <= shortLivedMs
  if (isShortLived || leftMs > soonMs) return { tone: 'good', text, order: endMs }
  return leftMs > verySoonMs
    ? { tone: 'warning', text: `soon: ${text}`, order: endMs }
    : { tone: 'bad', text: `very soon: ${text}`, order: endMs }
}
