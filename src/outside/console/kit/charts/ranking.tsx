/** The most frequent values: names with bars and numbers. */
import type { ComponentChildren } from 'preact'
import { number, percent } from '../../data/texts/format.js'

export interface Ranked {
  readonly key: string
  readonly label: ComponentChildren
  readonly count: number
  /** The count as a link to what it counts. */
  readonly counted?: ComponentChildren
}

interface RankingProps {
  readonly label: string
  readonly entries: readonly Ranked[]
  /** All of them, listed or not: for the share. Default: the sum of the entries. */
  readonly total?: number
}

export function Ranking({ label, entries, total }: RankingProps) {
  const whole = total ?? entries.reduce((sum, { count }) => sum + count, 0)
  const of = `${number(whole)}${total === undefined ? ' listed here' : ''}`
  const most = Math.max(1, ...entries.map(({ count }) => count))
  return (
    <ol class="ranking" aria-label={label}>
      {entries.map((entry) => (
        <li key={entry.key} title={`${number(entry.count)} of ${of}, ${percent(entry.count, whole)}`}>
          <span class="ranked">{entry.label}</span>
          <span class="number">{entry.counted ?? number(entry.count)}</span>
          <span class="bar" aria-hidden="true">
            <span style={{ width: `${(entry.count / most) * 100}%` }} />
          </span>
        </li>
      ))}
    </ol>
  )
}
