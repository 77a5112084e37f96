/** When something expires: in words, by urgency, and to sort by. */
import { now } from '../data/clock.js'
import { relative } from '../data/texts/format.js'
import { StateWord, type Tone } from './words.js'

const dayMs = 24 * 60 * 60_000
/** As the overview has it: time enough to get a certificate. */
const soonMs = 30 * dayMs
const verySoonMs = 7 * dayMs
/** Entries that never last longer, such as the certificate of a user for a day, expire as they should. */
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

interface ExpiryWordProps {
  /** RFC 3339: since when it is valid. */
  readonly from: string
  /** Null: it never expires. */
  readonly until: string | null | undefined
}

export function ExpiryWord({ from, until }: ExpiryWordProps) {
  const { tone, text } = expiryOf(from, until, now())
  return (
    <span title={until == null ? undefined : `${until} (UTC)`}>
      <StateWord tone={tone} text={text} />
    </span>
  )
}
