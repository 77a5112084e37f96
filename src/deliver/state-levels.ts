/** The states of destinations as a gauge. */
import { getOrMake } from '../core/maps.js'
import type { Level } from '../core/telemetry/metrics.js'
import type { LaneState } from './health.js'

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
 * those in trouble first, and counts the others by target and state.
 */
export function stateLevels(lanes: Iterable<LaneOfDestination>, namedMax: number): StateLevel[] {
  const isHealthy = ({ state }: LaneOfDestination): number => Number(state === 'healthy')
  const sorted = [...lanes].sort((a, b) => isHealthy(a) - isHealthy(b) || (a.id < b.id ? -1 : 1))
  const named = sorted.slice(0, namedMax).flatMap(({ id, target, state }) => {
    return levelsOf(id, target, { ...noLanes, [state]: 1 })
  })
  const unnamed = new Map<string, Record<LevelState, number>>()
  for (const { target, state } of sorted.slice(namedMax))
    getOrMake(unnamed, target, () => ({ ...noLanes }))[state] += 1
  return [...named, ...[...unnamed].flatMap(([target, counts]) => levelsOf(others, target, counts))]
}

const levelsOf = (
  destination: string,
  target: string,
  counts: Readonly<Record<LevelState, number>>,
): StateLevel[] => states.map((state) => [{ destination, target, state }, counts[state]])
