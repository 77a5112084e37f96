/**
 * Start here: delivery to all destinations in one process, with a run for each destination that has something to do. A run
 * feeds a lane (`lane/lane.ts`: the journey of a pack) from the destination's own consumers, or from the one that idle
 * destinations share (`own-consumers.ts` says which has what). All runs share one budget of bytes, so that many slow
 * destinations can't fill the memory. This room moves bytes: it must never know what a resource, an edge or a policy is.
 */
import { every, now, type Timer } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { DeliveryAttempt } from '../wire/delivery-attempts.js'
import { type OwnConsumerNotice, Sharing } from '../wire/own-consumers.js'
import { destinationIn } from '../wire/pack-message.js'
import type { Partition } from '../wire/partitions.js'
import type { Partitions } from '../wire/partitions-in-use.js'
import { DeletedDestinations } from './deleted-destinations.js'
import { DestinationRun, type DestinationRunDeps } from './destination-run.js'
import type { DestinationConfig } from './kind/destination.js'
import { ByteBudget } from './lane/byte-budget.js'
import {
  healthySince,
  type LaneReport,
  type LaneStatus,
  pausedByHand,
  type StateReport,
} from './lane/health.js'
import {
  deletedAfterMs,
  KeptConsumers,
  OwnConsumers,
  type PacksWaiting,
  readIdleMs,
} from './own-consumers.js'
import type { PackSource } from './pack-sources.js'
import { RequestHistory } from './request-history.js'
import { type Offered, SharedConsumer, type SharedConsumerOptions } from './shared-consumer.js'
import { type LaneOfDestination, stateLevels } from './state-levels.js'

/** Bytes of events, as JSON, of all destinations in flight in one process; fetching pauses beyond it. */
const packsInFlightBytesMax = 64 * 1024 * 1024
/** States of destinations in one answer of a deliverer, of about 150 bytes each: it must fit a message of NATS. */
const statesReportedMax = 5_000

interface DelivererDeps extends Omit<DestinationRunDeps, 'budget' | 'deletedAfterMs'> {
  readonly partitions: Pick<Partitions, 'all' | 'homeOf' | 'each'>
  /** If there are more destinations, the idle ones share consumers. */
  readonly ownConsumersMax: number
  /** How many destinations the metrics name. */
  readonly metricsDestinationsMax: number
}

/** Consumers and packs of other processes are looked for this often. */
const lookEveryMs = 5_000
/** Packs that lanes hold are looked at this often: some may be too old. */
const expireEveryMs = 1_000
/** A run that had nothing to do for so long ends, with its client and its credentials. */
const restAfterMs = 300_000

export class Deliverer {
  readonly #deps: DelivererDeps & DestinationRunDeps
  readonly #configs = new Map<string, DestinationConfig>()
  /** A run for each destination that has something to do; for all, if they have consumers of their own. */
  readonly #runs = new Map<string, DestinationRun>()
  /** The last status of destinations whose runs were closed. */
  readonly #resting = new Map<string, LaneStatus>()
  readonly #deleted: DeletedDestinations
  readonly #history: RequestHistory
  readonly #sharing: Sharing
  readonly #own: OwnConsumers
  readonly #kept: KeptConsumers
  readonly #shared = new Set<SharedConsumer>()
  /** The status of each destination that had no run yet. */
  readonly #unused = healthySince(now())
  readonly #timers: readonly Timer[]
  /** Shared consumers are read from then on: after a first look for packs that wait for destinations' own. */
  #openShared = (): void => {}
  #isConfigured = false
  #updating = Promise.resolve()

  constructor(deps: DelivererDeps) {
    const { nats, partitions, ledger, occurrences, metricsDestinationsMax, deliveryLog: log } = deps
    this.#deleted = new DeletedDestinations(deps)
    this.#history = new RequestHistory({ log, occurrences })
    this.#sharing = new Sharing(deps.ownConsumersMax, false)
    const budget = new ByteBudget(packsInFlightBytesMax)
    this.#deps = {
      ...deps,
      deliveryLog: this.#history,
      budget,
      deletedAfterMs: (id, partition) =>
        this.#isShared || partition !== partitions.homeOf(id) ? deletedAfterMs : undefined,
    }
    this.#own = new OwnConsumers({ nats, partitions, occurrences, heard: this.#heard })
    this.#kept = new KeptConsumers({ nats, partitions, deletedAfterMs })
    const moved = (id: string, partition: Partition): void => {
      const run = this.#run(id)
      const isNeeded = run?.needsOwn ?? true
      // One that works takes the next ones from the shared consumer.
      if (isNeeded) this.#own.announce({ destination: id, partition })
      if (isNeeded || !run?.sources.has(partition)) run?.sources.open(partition)
    }
    const opens = new Promise<void>((resolve) => {
      this.#openShared = resolve
    })
    const sharing = { nats, ledger, occurrences, budget, offer: this.#offer, moved, opens }
    partitions.each((partition) => this.#share(partition, sharing))
    this.#timers = [
      every(expireEveryMs, () => {
        for (const run of this.#runs.values()) run.expire()
      }),
      every(lookEveryMs, () => this.#inTurn(() => this.#look())),
      every(lookEveryMs, () =>
        this.#kept.look(this.#isShared, this.#configs.keys()).catch(() => {
          // The health of NATS is reported elsewhere; the next look tries again.
        }),
      ),
    ]
    occurrences.destinationStates(() => stateLevels(this.#lanes(), metricsDestinationsMax))
  }

  #share(partition: Partition, options: SharedConsumerOptions): SharedConsumer {
    const shared = new SharedConsumer(partition, options)
    this.#shared.add(shared)
    return shared
  }

  #inTurn(work: () => Promise<void> | void): Promise<void> {
    const { occurrences } = this.#deps
    this.#updating = this.#updating
      .then(work)
      .catch((error: unknown) => occurrences.deliveryFaulted({ reason: messageOf(error) }))
    return this.#updating
  }

  /** Adapts the runs to the existing destinations; `deletedIds` are those known to be deleted. */
  update(configs: readonly DestinationConfig[], deletedIds: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      this.#update(configs, deletedIds)
      const isFirst = !this.#isConfigured
      this.#isConfigured = true
      if (isFirst) await this.#look()
    })
  }

  #update(configs: readonly DestinationConfig[], deletedIds: readonly string[]): void {
    for (const config of configs) {
      if (this.#configs.get(config.id) === config) continue
      this.#configs.set(config.id, config)
      this.#runs.get(config.id)?.update(config)
      // The status of one that is paused is its run's.
      if (config.pausedAt !== undefined) this.#run(config.id)
    }
    for (const id of deletedIds) this.#delete(id)
    if (this.#isShared) return
    for (const id of this.#configs.keys()) this.#run(id)?.sources.open(this.#deps.partitions.homeOf(id))
  }

  /** Are there so many destinations that the idle ones share consumers? */
  get #isShared(): boolean {
    return this.#sharing.isOn(this.#configs.size)
  }

  /** The run of a destination, which begins if there is none; undefined for an unknown destination. */
  #run(id: string): DestinationRun | undefined {
    const config = this.#configs.get(id)
    const known = this.#runs.get(id)
    if (known !== undefined || config === undefined) return known
    const run = new DestinationRun(config, this.#deps)
    this.#resting.delete(id)
    this.#runs.set(id, run)
    return run
  }

  readonly #offer = (id: string, source: PackSource, message: PulledMessage): Offered => {
    const run = this.#run(id)
    // The backlog of a deleted one is dropped; its packs here are the rest of it.
    if (run === undefined) return this.#deleted.has(id) ? 'dropped' : 'unknown'
    return run.takeShared(source, message) ? 'took' : 'moved'
  }

  // --- who has a consumer of its own ---

  readonly #heard = ({ destination, partition }: OwnConsumerNotice): void => {
    this.#run(destination)?.sources.open(partition)
  }

  async #look(): Promise<void> {
    // The health of NATS is reported elsewhere; the next look tries again.
    const isNeeded = this.#isShared || this.#deps.partitions.all.length > 1
    const waiting = isNeeded ? await this.#own.waitedFor().catch(() => undefined) : undefined
    if (isNeeded && waiting === undefined) return
    if (waiting !== undefined) await (this.#isShared ? this.#lookAtOwn(waiting) : this.#drain(waiting))
    if (this.#isConfigured) this.#openShared()
  }

  async #lookAtOwn(waiting: PacksWaiting): Promise<void> {
    for (const [id, partitions] of waiting)
      for (const partition of partitions) this.#run(id)?.sources.open(partition)
    for (const [id, { needsOwn, sources }] of this.#runs)
      if (needsOwn && !sources.isEmpty)
        this.#own.remind({ destination: id, partition: this.#deps.partitions.homeOf(id) })
    const healthy = [...this.#runs.values()].filter(({ isHealthy }) => isHealthy)
    await Promise.all(healthy.map(({ sources }) => sources.closeIdle(readIdleMs)))
    for (const [id, run] of this.#runs) if (run.isIdleFor(restAfterMs)) this.#rest(id, run)
  }

  #rest(id: string, run: DestinationRun): void {
    this.#runs.delete(id)
    this.#resting.set(id, run.status())
    this.#history.shorten(id)
    void run.close()
  }

  /** Each destination also gets the packs that wait for it in other partitions than its own. */
  async #drain(waiting: PacksWaiting): Promise<void> {
    const { partitions, occurrences } = this.#deps
    for (const [id, run] of this.#runs)
      await run.sources
        .read(new Set([partitions.homeOf(id), ...(waiting.get(id) ?? [])]))
        .catch((error) => occurrences.deliveryFaulted({ destination_id: id, reason: messageOf(error) }))
  }

  /** A deleted destination's run ends; what it is given from then on is dropped. */
  #delete(id: string): void {
    const config = this.#configs.get(id)
    const run = this.#runs.get(id)
    this.#configs.delete(id)
    this.#runs.delete(id)
    this.#resting.delete(id)
    this.#deleted.drop(id, config?.kind, async () => {
      await run?.close()
      this.#history.forget(id)
    })
  }

  // --- what it says of them ---

  *#lanes(): Generator<LaneOfDestination> {
    for (const [id, { kind }] of this.#configs) {
      const { state, cause } = this.#runs.get(id)?.status() ?? this.#unused
      yield { id, target: kind, state: cause === pausedByHand ? 'paused_by_hand' : state }
    }
  }

  statusOf(destinationId: string): LaneReport | undefined {
    if (!this.#configs.has(destinationId)) return undefined
    const status = this.#runs.get(destinationId)?.status() ?? this.#resting.get(destinationId) ?? this.#unused
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
    for (const id of new Set([...this.#runs.keys(), ...ids])) {
      const status = this.statusOf(id)
      if (status === undefined || (status.state === 'healthy' && !ids.has(id))) continue
      const { state, cause, since, last_success_at } = status
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
    if (!this.#configs.has(destinationId)) return undefined
    return this.#history.attemptsOf(destinationId) ?? []
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.stop()
    this.#own.close()
    await this.#updating
    await this.#deleted.settled()
    await Promise.all([...this.#shared].map((shared) => shared.stop()))
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
    await Promise.all([...this.#shared].map((shared) => shared.close()))
  }
}
