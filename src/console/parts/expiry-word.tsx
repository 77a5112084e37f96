/** When something expires: a word, and the time. */
import { now } from '../data/clock.js'
import { expiryOf } from '../data/resources/expiry.js'
import { StateWord } from './words.js'

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
