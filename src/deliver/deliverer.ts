/**
 * Start here: delivery to all destinations in one process, with a run per destination that follows the configuration.
 * A run feeds a lane (`lane.ts`: the journey of a pack) from the destination's durable consumer. All runs share one
 * budget of bytes, so that many slow destinations can't fill the memory. This room moves bytes: it must never know what
 * a resource, an edge or a policy is.
 */
import { every, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { getOrMake } from '../core/maps.js'
import type { Level } from '../core/telemetry/metrics.js'
import type { DeliveryAttempt } from '../wire/delivery-attempts.js'
import { destinationIn } from '../wire/pack-message.js'
import { deliverySubject, destinationOfSubject, type Partition } from '../wire/partitions.js'
import { ByteBudget } from './byte-budget.js'
import type { DestinationConfig } from './destination.js'
import { DestinationRun, type DestinationRunDeps } from './destination-run.js'
import { type LaneReport, type LaneState, pausedByHand, type StateReport } from './health.js'
import { RequestHistory } from './request-history.js'

/** Bytes of events, as JSON, of all destinations in flight in one process; fetching pauses beyond it. */
const packsInFlightBytesMax = 64 * 1024 * 1024
/** States of destinations in one answer of a deliverer, of about 150 bytes each: it must fit a message of NATS. */
const statesReportedMax = 5_000

interface DelivererDeps extends Omit<DestinationRunDeps, 'budget'> {
  /** How many destinations the metrics name. */
  readonly metricsDestinationsMax: number
}

/** Packs in other partitions than their destination's are looked for this often. */
const drainEveryMs = 5_000
/** Packs that lanes hold are looked at this often: some may be too old. */
const expireEveryMs = 1_000

export class Deliverer {
  readonly #deps: DestinationRunDeps
  readonly #runs = new Map<string, DestinationRun>()
  readonly #dropped = new Set<string>()
  readonly #history: RequestHistory
  readonly #timers: readonly Timer[]
  #updating = Promise.resolve()

  constructor(deps: DelivererDeps) {
    const { occurrences, metricsDestinationsMax, deliveryLog: log } = deps
    this.#history = new RequestHistory({ log, occurrences })
    this.#deps = { ...deps, deliveryLog: this.#history, budget: new ByteBudget(packsInFlightBytesMax) }
    this.#timers = [
      every(expireEveryMs, () => {
        for (const run of this.#runs.values()) run.expire()
      }),
      every(drainEveryMs, () => this.#drainInTurn()),
    ]
    occurrences.destinationStates(() => stateLevels(this.#lanes(), metricsDestinationsMax))
  }

  /** Adapts the runs to the existing destinations; `deletedIds` are those known to be deleted. */
  update(configs: readonly DestinationConfig[], deletedIds: readonly string[]): Promise<void> {
    this.#updating = this.#updating.then(() => this.#update(configs, deletedIds))
    return this.#updating
  }

  async #update(configs: readonly DestinationConfig[], deletedIds: readonly string[]): Promise<void> {
    for (const config of configs) {
      const run = this.#runs.get(config.id)
      if (run === undefined) this.#runs.set(config.id, new DestinationRun(config, this.#deps))
      else run.update(config)
    }
    await Promise.all(deletedIds.map((id) => this.#dropped.has(id) || this.#drop(id)))
  }

  // --- packs from a time with more partitions, or fewer ---

  #drainInTurn(): Promise<void> {
    if (this.#deps.partitions.all.length === 1) return Promise.resolve()
    this.#updating = this.#updating.then(() => this.#drain())
    return this.#updating
  }

  /** Each destination also gets the packs that wait for it in other partitions than its own. */
  async #drain(): Promise<void> {
    // The health of NATS is reported elsewhere; the next look tries again.
    const elsewhere = await packsElsewhere(this.#deps).catch(() => undefined)
    if (elsewhere === undefined) return
    const { occurrences } = this.#deps
    for (const [id, run] of this.#runs)
      await run
        .drain(elsewhere.get(id) ?? nowhere)
        .catch((error) => occurrences.deliveryFaulted({ destination_id: id, reason: messageOf(error) }))
  }

  /** A deleted destination's backlog is dropped, and counted. */
  async #drop(id: string): Promise<void> {
    const run = this.#runs.get(id)
    this.#runs.delete(id)
    await run?.close()
    this.#history.forget(id)
    const { occurrences } = this.#deps
    try {
      if (await dropBacklog(this.#deps, id)) occurrences.backlogDropped({ destination_id: id })
      this.#dropped.add(id)
    } catch (error) {
      occurrences.deliveryFaulted({ destination_id: id, reason: messageOf(error) })
    }
  }

  *#lanes(): Generator<LaneOfDestination> {
    for (const [id, run] of this.#runs) {
      const { state, cause } = run.status()
      yield { id, target: run.target, state: cause === pausedByHand ? 'paused_by_hand' : state }
    }
  }

  statusOf(destinationId: string): LaneReport | undefined {
    const status = this.#runs.get(destinationId)?.status()
    if (status === undefined) return undefined
    const usage = this.#history.usageOf(destinationId)
    return { ...status, usage, rate: this.#history.rateOf(destinationId) }
  }

  /** Tries to deliver now, unless someone paused the destination; the status before. */
  probe(destinationId: string): LaneReport | undefined {
    const before = this.statusOf(destinationId)
    this.#runs.get(destinationId)?.probe()
    return before
  }

  /** The states of all destinations that are not healthy, and of those with these ids. */
  states(ids: ReadonlySet<string>): StateReport[] {
    const reports: StateReport[] = []
    for (const [id, run] of this.#runs) {
      const { state, cause, since, last_success_at } = run.status()
      if (state === 'healthy' && !ids.has(id)) continue
      reports.push({ destination_id: id, state, cause, since, has_succeeded: last_success_at !== null })
      if (reports.length === statesReportedMax) break
    }
    return reports
  }

  /** The packs among these whose delivery has begun and not ended. */
  held(packs: readonly string[]): string[] {
    return packs.filter((pack) => this.#runs.get(destinationIn(pack))?.holds(pack))
  }

  /** The newest first; undefined for an unknown destination. */
  attemptsOf(destinationId: string): readonly DeliveryAttempt[] | undefined {
    return this.#history.attemptsOf(destinationId)
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.stop()
    await this.#updating
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
  }
}

const nowhere: ReadonlySet<Partition> = new Set()

/** The partitions, besides its own, in which packs wait for a destination. */
async function packsElsewhere({
  nats,
  partitions,
}: Pick<DelivererDeps, 'nats' | 'partitions'>): Promise<ReadonlyMap<string, ReadonlySet<Partition>>> {
  const elsewhere = new Map<string, Set<Partition>>()
  for (const partition of partitions.all) {
    const counts = await nats.subjectCounts(partition.deliveriesStream, deliverySubject(partition, '*'))
    for (const id of Object.keys(counts).map(destinationOfSubject))
      if (partitions.homeOf(id) !== partition) getOrMake(elsewhere, id, () => new Set()).add(partition)
  }
  return elsewhere
}

type BacklogDeps = Pick<DelivererDeps, 'nats' | 'ledger' | 'partitions'>

/** Removes a destination's backlog and its consumer, in each partition; false if there was neither. */
export async function dropBacklog(deps: BacklogDeps, destinationId: string): Promise<boolean> {
  let isDropped = false
  for (const partition of deps.partitions.all)
    if (await dropFrom(partition, deps, destinationId)) isDropped = true
  return isDropped
}

async function dropFrom(
  partition: Partition,
  { nats, ledger }: BacklogDeps,
  destinationId: string,
): Promise<boolean> {
  const { deliveriesStream } = partition
  const subject = deliverySubject(partition, destinationId)
  const waiting = await nats.nextMessage(deliveriesStream, subject)
  const consumer = await nats.consumerInfo(deliveriesStream, destinationId)
  if (waiting === undefined && consumer === undefined) return false
  // Recorded first: after a crash, leftover messages are found again, but a missing entry of the books is not.
  await ledger.write([{ type: 'dropped', destination: destinationId }])
  await nats.deleteConsumer(deliveriesStream, destinationId)
  await nats.purgeSubject(deliveriesStream, subject)
  return true
}

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
