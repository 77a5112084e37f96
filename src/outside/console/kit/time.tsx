/** A time: local, in UTC on hover. */
import { signal } from '@preact/signals'
import { every, now } from '../data/clock.js'
import { localTime, relative } from '../data/texts/format.js'

/** Moves on every few seconds, so that `5 min ago` stays true. */
const present = signal(now())
every(5_000, () => {
  present.value = now()
})

export function Time({
  at,
  isRelative = false,
}: {
  readonly at: string | null
  readonly isRelative?: boolean
}) {
  if (at === null) return <span class="quiet">–</span>
  const date = new Date(at)
  const ms = date.getTime()
  return (
    <time dateTime={at} title={`${date.toISOString()} (UTC)`}>
      {isRelative ? relative(ms, Math.max(present.value, now())) : localTime(date, now())}
    </time>
  )
}
