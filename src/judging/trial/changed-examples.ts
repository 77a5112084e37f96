/** Records that would be decided differently, to be shown: of each direction some, however many there are of another one. */

import type { Decision } from '../../words/event/define.js'
import type { TrialExample } from '../../words/shape/trial.js'
import { trialExamplesMax } from './trial.js'

type Direction = 'lost' | 'gained' | 'other'

const directionOf = (before: Decision, after: Decision): Direction =>
  before === 'allow' ? 'lost' : after === 'allow' ? 'gained' : 'other'

interface Example {
  /** In the order in which they were found. */
  readonly number: number
  readonly shown: TrialExample
}

export class Examples {
  readonly #found: Readonly<Record<Direction, Example[]>> = { lost: [], gained: [], other: [] }
  /** Client, edge and decisions of each. */
  readonly #keys = new Set<string>()

  /** `explained` takes long, so it is called only if the example is kept. */
  add(
    of: readonly (string | undefined)[],
    before: Decision,
    after: Decision,
    explained: () => TrialExample,
  ): void {
    const found = this.#found[directionOf(before, after)]
    if (found.length >= trialExamplesMax) return
    const key = JSON.stringify([...of, before, after])
    if (this.#keys.has(key)) return
    this.#keys.add(key)
    found.push({ number: this.#keys.size, shown: explained() })
  }

  /** Some of each direction, in the order in which they were found. */
  chosen(): TrialExample[] {
    const { lost, gained, other } = this.#found
    const byTurns = Array.from({ length: trialExamplesMax }, (_, turn) =>
      [lost, gained, other].flatMap((each) => each[turn] ?? []),
    )
    return byTurns
      .flat()
      .slice(0, trialExamplesMax)
      .sort((one, next) => one.number - next.number)
      .map(({ shown }) => shown)
  }
}
