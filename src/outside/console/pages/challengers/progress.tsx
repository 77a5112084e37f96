/** How far the comparison of a challenger is. */
import type { Client } from '../../../../words/client/client.js'
import { useAnswer } from '../../data/asking/api.js'
import { duration, number } from '../../data/texts/format.js'
import { AnsweredInLine } from '../../parts/states.js'
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
  const answer = useAnswer([id], (client) => client.challengers.progress(id), { everyMs: lookEveryMs })
  return (
    <AnsweredInLine answer={answer}>
      {(progress) => <Counts progress={progress} isCounted={isCounted} />}
    </AnsweredInLine>
  )
}

interface CountsProps {
  readonly progress: Awaited<ReturnType<Client['challengers']['progress']>>
  readonly isCounted: boolean
}

function Counts({ progress: { records, changed, seconds_left, behind_seconds }, isCounted }: CountsProps) {
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
