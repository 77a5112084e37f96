/**
 * A small harness: contenders take turns in one process, so that whatever else the machine does meets all of them,
 * and the median of their turns counts. Only ratios mean something on another machine.
 */
import { monotonicMs } from '../../src/ground/core/clock.js'

/** Does a batch of work; the number of operations in it. */
export type Contender = () => number | Promise<number>

/** A ratio that a row is about. */
export interface Measure {
  readonly name: string
  readonly ratio: number
  readonly bound: { readonly atLeast: number } | { readonly atMost: number }
}

export interface RowResult {
  readonly measures: readonly Measure[]
  /** Medians behind the ratios, in nanoseconds per operation. */
  readonly nsPerOperation: Readonly<Record<string, number>>
}

export interface BenchTools {
  /** Fewer and shorter turns, for a look in between. */
  readonly quick: boolean
  /** Another checkout, which is built: rows that can, measure against it. */
  readonly against?: string | undefined
  /**
   * Lets the contenders take turns; the median of each, in nanoseconds per operation. `more`: so many times the turns, for
   * bounds near 1, which the noise of a few turns exceeds.
   */
  compare<Name extends string>(
    contenders: Readonly<Record<Name, Contender>>,
    more?: number,
  ): Promise<Record<Name, number>>
}

export interface BenchRow {
  readonly name: string
  /** The bound that it must reach, in words. */
  readonly mustReach: string
  /** Needs no deployment and takes a few seconds with `quick`: CI compares it with the recorded ratios. */
  readonly inCi?: true
  run(bench: BenchTools): Promise<RowResult>
}

export const isReached = ({ ratio, bound }: Measure): boolean =>
  'atLeast' in bound ? ratio >= bound.atLeast : ratio <= bound.atMost

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The value that this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length)
}

export function benchTools(quick: boolean, against?: string): BenchTools {
  const turns = quick ? 5 : 9
  const turnMs = quick ? 15 : 60
  // Code that runs for days is compiled more than once until it is as fast as it gets; that takes most of a second.
  const warmUpMs = quick ? 15 : 1_000
  return {
    quick,
    against,
    async compare(contenders, more = 1) {
      const names = Object.keys(contenders) as (keyof typeof contenders)[]
      const times = Object.fromEntries(names.map((name) => [name, [] as number[]]))
      for (const name of names) await takeTurn(contenders[name], warmUpMs)
      for (let turn = 0; turn < turns * more; turn++)
        for (const name of names) times[name]!.push(await takeTurn(contenders[name], turnMs))
      const medians = names.map((name) => [name, median(times[name]!)])
      return Object.fromEntries(medians)
    },
  }
}

/** Runs batches for about `turnMs`; nanoseconds per operation. */
async function takeTurn(contender: Contender, turnMs: number): Promise<number> {
  const start = monotonicMs()
  let operations = 0
  let elapsed = 0
  while (elapsed < turnMs) {
    const batch = contender()
    operations += typeof batch === 'number' ? batch : await batch
    elapsed = monotonicMs() - start
  }
  return (elapsed * 1e6) / operations
}
