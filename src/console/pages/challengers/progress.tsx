/** How far the comparison of a challenger is. */
import { useAnswer } from '../../data/asking/api.js'
import { duration, number } from '../../data/texts/format.js'
import { StateWord } from '../../parts/words.js'

const lookEveryMs = 10_000
/** The log is some seconds behind in any case. */
const behindFromSeconds = 10

interface ProgressProps {
  readonly id: string
  /** Not next to the difference, which has the same counts, and was read at another moment. */
  readonly isCounted?: boolean
}

export function Progress({ id, isCounted = true }: ProgressProps) {
  const { data, error } = useAnswer([id], (client) => client.challengers.progress(id), {
    everyMs: lookEveryMs,
  })
  if (error !== undefined) return <span class="quiet">not known: the log was not read</span>
  if (data === undefined) return <span class="quiet">…</span>
  const { records, changed, seconds_left, behind_seconds } = data
  return (
    <>
      {isCounted && `${number(records)} records compared, ${number(changed)} differ`}
      {isCounted && seconds_left > 0 && <span class="quiet">, </span>}
      {seconds_left > 0 && <span class="quiet">{duration(seconds_left * 1000)} left</span>}
      {!isCounted && seconds_left <= 0 && 'complete'}{' '}
      {behind_seconds !== null && behind_seconds > behindFromSeconds && (
        <StateWord tone="warning" text={`${duration(behind_seconds * 1000)} behind`} />
      )}
    </>
  )
}
