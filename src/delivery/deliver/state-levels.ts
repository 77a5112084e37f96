/** The states of destinations as a gauge. */
import { getOrMake } from '../../ground/core/maps.js'
import type { Level } from '../../ground/core/telemetry/metrics.js'
import type { LaneState } from './lane/health.js'

export interface LaneOfDestination {
  readonly id: string
  /** The kind of its target. */
  readonly target: string
  readonly state: LevelState
}

/** Alerts must tell a destination that someone paused from one that can't deliver. */
type LevelState = LaneState | 'paused_by_hand'

type StateLevel = Level<'destination' | 'target' | 'state'>

/** The label of all destinations that are not named. */
const others = 'other'

const noLanes: Readonly<Record<LevelState, number>> = {
  healthy: 0,
  throttled: 0,
  failing: 0,
  paused: 0,
  paused_by_hand: 0,
}
const states = Object.keys(noLanes) as LevelState[]

/**
 * States of destinations as a gauge: 1 for the present state, 0 for the others. Names at most `namedMax` destinations,
 * those in trouble first, and counts the others by target and state. Takes one pass: there may be 100,000 at each scrape.
 */
export function stateLevels(lanes: Iterable<LaneOfDestination>, namedMax: number): StateLevel[] {
  const named = new FirstLanes(namedMax)
  const unnamed = new Map<string, Record<LevelState, number>>()
  const count = ({ target, state }: LaneOfDestination): void => {
    getOrMake(unnamed, target, () => ({ ...noLanes }))[state] += 1
  }
  for (const lane of lanes) named.add(lane, count)
  return [
    ...named.end(count).flatMap(({ id, target, state }) => levelsOf(id, target, { ...noLanes, [state]: 1 })),
    ...[...unnamed].flatMap(([target, counts]) => levelsOf(others, target, counts)),
  ]
}

const isHealthy = ({ state }: LaneOfDestination): number => Number(state === 'healthy')
const inOrder = (a: LaneOfDestination, b: LaneOfDestination): number =>
  isHealthy(a) - isHealthy(b) || (a.id < b.id ? -1 : 1)

/** The first ones of many. What is not among them is left out at once, but for some that are sorted out together. */
class FirstLanes {
  readonly #max: number
  #first: LaneOfDestination[] = []
  /** None behind this one is among them. */
  #last: LaneOfDestination | undefined

  constructor(max: number) {
    this.#max = max
  }

  add(lane: LaneOfDestination, leftOut: (lane: LaneOfDestination) => void): void {
    const isBehind = this.#last !== undefined && inOrder(lane, this.#last) > 0
    if (isBehind) leftOut(lane)
    else this.#first.push(lane)
    if (this.#first.length > 2 * this.#max) this.#last = this.end(leftOut).at(-1)
  }

  /** The first ones, in order. */
  end(leftOut: (lane: LaneOfDestination) => void): readonly LaneOfDestination[] {
    this.#first.sort(inOrder)
    for (const lane of this.#first.splice(this.#max)) leftOut(lane)
    return this.#first
  }
}

const levelsOf = (
  destination: string,
  target: string,
  counts: Readonly<Record<LevelState, number>>,
): StateLevel[] => states.map((state) => [{ destination, target, state }, counts[state]])
