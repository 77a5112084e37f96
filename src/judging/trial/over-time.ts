/**
 * Counts of decisions over the time that a trial reads, for a chart of some 48 intervals. The records say how long that is:
 * the intervals are seconds at first, and whenever they become too many, some of them become one.
 */
import { isoSeconds } from '../../ground/core/clock.js'
import type { Decision } from '../../words/event/define.js'
import type { TrialDecisions } from '../../words/shape/trial.js'

type OverTime = TrialDecisions['over_time']
/** Records by the decision before and the one after. */
type Matrix = Record<Decision, Record<Decision, number>>

const decisions: readonly Decision[] = ['allow', 'block', 'deny']

export const emptyMatrix = (): Matrix => ({
  allow: { allow: 0, block: 0, deny: 0 },
  block: { allow: 0, block: 0, deny: 0 },
  deny: { allow: 0, block: 0, deny: 0 },
})

/** Every pair of decisions and its records. */
export const pairsOf = (matrix: Matrix) =>
  decisions.flatMap((before) => decisions.map((after) => ({ before, after, records: matrix[before][after] })))

const trialIntervalsMax = 48
/** Each length is a multiple of the one before. */
const lengthsSeconds = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400]

export class DecisionsOverTime {
  #lengthIndex = 0
  #seconds = lengthsSeconds[0]!
  /** By the number of the interval since the epoch. */
  #intervals = new Map<number, Matrix>()
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY

  add(atMs: number, before: Decision, after: Decision): void {
    for (;;) {
      const index = Math.floor(atMs / 1000 / this.#seconds)
      this.#first = Math.min(this.#first, index)
      this.#last = Math.max(this.#last, index)
      if (this.#last - this.#first < trialIntervalsMax) {
        this.#matrixAt(index)[before][after] += 1
        return
      }
      this.#lengthen()
    }
  }

  #matrixAt(index: number): Matrix {
    let matrix = this.#intervals.get(index)
    if (matrix === undefined) {
      matrix = emptyMatrix()
      this.#intervals.set(index, matrix)
    }
    return matrix
  }

  #lengthen(): void {
    const before = this.#seconds
    this.#lengthIndex += 1
    this.#seconds = lengthsSeconds[this.#lengthIndex] ?? before * 2
    const factor = this.#seconds / before
    const shorter = this.#intervals
    this.#intervals = new Map()
    this.#first = Math.floor(this.#first / factor)
    this.#last = Math.floor(this.#last / factor)
    for (const [index, matrix] of shorter) {
      const sums = this.#matrixAt(Math.floor(index / factor))
      for (const { before: was, after, records } of pairsOf(matrix)) sums[was][after] += records
    }
  }

  result(): OverTime {
    return shownOverTime(this.#seconds, this.#intervals)
  }
}

/** `intervals`: by their number since the epoch. */
export function shownOverTime(seconds: number, intervals: ReadonlyMap<number, Matrix>): OverTime {
  const points = [...intervals]
    .toSorted(([one], [other]) => one - other)
    .map(([index, matrix]) => {
      const pairs = pairsOf(matrix)
      const sums = (side: 'before' | 'after') => {
        const of = { allow: 0, block: 0, deny: 0 }
        for (const pair of pairs) of[pair[side]] += pair.records
        return of
      }
      return {
        at: isoSeconds(index * seconds * 1000),
        before: sums('before'),
        after: sums('after'),
        changed: pairs.filter(({ before, after, records }) => before !== after && records > 0),
      }
    })
  return { interval_seconds: seconds, points }
}

/** The length of intervals for records between two times that are known: the one that a trial of them ends with. */
export const secondsBetween = (firstMs: number, lastMs: number): number =>
  lengthsSeconds.find((seconds) => {
    const indexOf = (ms: number): number => Math.floor(ms / 1000 / seconds)
    return indexOf(lastMs) - indexOf(firstMs) < trialIntervalsMax
  }) ?? lengthsSeconds.at(-1)!
