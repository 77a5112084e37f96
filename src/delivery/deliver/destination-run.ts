/**
 * One destination in one process: a lane, fed by the destination's own consumers, or by the one that idle destinations
 * share.
 *
 * A pack is acknowledged when each of its events was accepted or lies in the dead letters, and the ledger says so.
 * While a destination is probed, its run holds packs that were accepted in part, or one pack; other packs it fetched
 * are given back with a delay, and nothing more is fetched. While it is paused by hand, nothing is fetched at all. But
 * packs that are too old (`expiry.ts`) are fetched in any case, entered in the ledger as dropped, and acknowledged.
 */

import type { AgeClock } from '../../ground/core/age-clock.js'
import { monotonicMs, now, sleep } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Consumer } from '../../ground/nats/consumers.js'
import type { MessageInFlight } from '../../ground/nats/durable-reader.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import { type LedgerWriter, type PackContents, packContents, resentInput } from '../books/ledger.js'
import { contentsIdIn, firstStoredAtMs } from '../wire/pack-message.js'
import type { PackedEvent } from '../wire/packed-event.js'
import { isRecordsInput, type Partition, type PartitionSet } from '../wire/partitions.js'
import { DeadEvents } from './dead-events.js'
import { droppedEvents, Expiry } from './expiry.js'
import { type DestinationConfig, targetOf } from './kind/destination.js'
import type { Sender } from './kind/sender.js'
import type { AttemptLog } from './lane/attempt-log.js'
import type { ByteBudget } from './lane/byte-budget.js'
import { type DeliveryTrace, deliveryTrace, endDelivery, outcomesOf } from './lane/delivery-trace.js'
import { HandPause } from './lane/hand-pause.js'
import { type LaneStatus, reportState } from './lane/health.js'
import type { PackResult } from './lane/job.js'
import { Lane } from './lane/lane.js'
import type { LaneSettings } from './lane/lane-settings.js'
import { reportMalformed } from './malformed-packs.js'
import { fetchPacks, type PackSource, PackSources } from './pack-sources.js'
import { PacksInFlight } from './packs-in-flight.js'
import type { SharedPacks } from './shared-packs.js'

/** Packs that are too old, fetched at a time. */
const expiredMax = 8
/** How often a run that waits for room, or for a probe, looks again. */
const lookAgainMs = 100
/** While the lane probes, nothing is fetched; once the probe succeeds, packs that were given back come soon. */
const giveBackDelayMsMax = 1_000
/** Time limits of a stop: for packs of which some events were sent, and then for the requests under way. */
const stopDrainWithinMs = 6_000
const stopLane: Partial<LaneSettings> = { closeTimeoutMs: 500, abortTimeoutMs: 500 }

export interface DestinationRunDeps {
  readonly nats: Nats
  readonly partitions: Pick<PartitionSet, 'all' | 'homeOf'>
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly openSender: (config: DestinationConfig) => Sender
  readonly laneSettings?: Partial<LaneSettings>
  readonly retentionMs: number
  readonly ages: Pick<AgeClock, 'now'>
  /** When the server deletes a consumer of a destination in a partition that no one reads; undefined: never. */
  readonly deletedAfterMs: (id: string, partition: Partition) => number | undefined
  readonly budget: ByteBudget
  readonly packs: SharedPacks
  readonly deliveryLog: { of(destination: DestinationConfig): AttemptLog }
}

/** A pack, with what its message says of it. */
interface ReadPack {
  /** The sequence of its message. */
  readonly sequence: number
  readonly storedAtMs: number
  readonly contents: PackContents
  readonly events: readonly PackedEvent[]
  readonly trace: DeliveryTrace | undefined
}

/** A pack's message, and where it is acknowledged. */
type TakenMessage = Pick<PackSource, 'reader' | 'partition'> & { readonly inFlight: MessageInFlight }

type EndedPack = Extract<PackResult, { outcome: 'done' }>

export class DestinationRun {
  /** Its own consumers. */
  readonly sources: PackSources
  readonly #deps: DestinationRunDeps
  readonly #lane: Lane
  readonly #pause: HandPause
  readonly #packs: PacksInFlight
  readonly #expiry: Expiry
  readonly #dead: DeadEvents
  #config: DestinationConfig
  /** When a pack came last: milliseconds, monotonic. */
  #takenMs = monotonicMs()

  constructor(config: DestinationConfig, deps: DestinationRunDeps) {
    this.#config = config
    this.#deps = deps
    this.#packs = new PacksInFlight(deps.budget, () => this.#lane.collects)
    this.#dead = new DeadEvents(deps)
    this.#expiry = new Expiry(deps.nats, deps.retentionMs, deps.ages)
    this.#lane = new Lane(config, {
      open: deps.openSender,
      deadLetter: (event, fault) => this.#dead.park(event, fault, this.#config, this.sources.stopping),
      changed: (status) => {
        if (!this.#pause.isOn) reportState(deps.occurrences, this.#config, status)
      },
      settings: { ...stopLane, ...deps.laneSettings },
      budget: deps.budget,
      isFull: () => deps.budget.isTight || this.#packs.room <= 0,
      log: deps.deliveryLog.of(config),
      defect: (error) =>
        deps.occurrences.deliveryFaulted({ destination_id: config.id, reason: messageOf(error) }),
    })
    this.#pause = new HandPause(this.#lane)
    this.#setPause(config)
    const ofIt = { destination_id: config.id }
    this.sources = new PackSources(config.id, {
      nats: deps.nats,
      deletedAfterMs: (partition) => deps.deletedAfterMs(config.id, partition),
      pull: (source, consumer, signal) => this.#pull(source, consumer, signal),
      unavailable: (error) => deps.occurrences.deliveryFaulted({ ...ofIt, reason: messageOf(error) }),
      stoppedEarly: (messages) => deps.occurrences.stoppedEarly({ ...ofIt, messages }),
    })
  }

  /** Has it had nothing to do for so long, no consumer of its own, and nothing to say but that it is healthy? */
  isIdleFor(ms: number): boolean {
    const hasNothing = this.#packs.isEmpty && this.sources.isEmpty
    return hasNothing && this.isHealthy && monotonicMs() - this.#takenMs >= ms
  }

  readonly status = (): LaneStatus => this.#pause.over(this.#lane.status())

  update(config: DestinationConfig): void {
    const isSameTarget = targetOf(config) === targetOf(this.#config)
    this.#config = config
    if (!isSameTarget) this.#lane.retarget(config)
    this.#setPause(config)
  }

  readonly holds = (pack: string): boolean => this.#packs.has(pack)

  /** Tries now, because the destination may work again. A pause by hand stays. */
  readonly probe = (): void => this.#lane.hurry()

  #setPause({ pausedAt }: DestinationConfig): void {
    const before = this.#pause.isOn
    this.#pause.change(pausedAt)
    if (this.#pause.isOn !== before) reportState(this.#deps.occurrences, this.#config, this.status())
  }

  /** Enters this destination's kind in the books, which need it after the destination is deleted. */
  #introduce(): void {
    const { id, kind } = this.#config
    this.#deps.ledger.write([{ type: 'destination', destination: id, target: kind }]).catch(() => {
      // The ledger closes, and so does this run: the next process enters it.
    })
  }

  // --- fetching ---

  async #pull(source: PackSource, consumer: Consumer, signal: AbortSignal): Promise<void> {
    // Entered again after each reconnect: the ledger may be another one, or restored from a backup.
    this.#introduce()
    while (!signal.aborted) await this.#fetch(source, consumer, signal)
  }

  async #fetch(source: PackSource, consumer: Consumer, signal: AbortSignal): Promise<void> {
    const mayTake = this.#pause.isOn ? 0 : this.#lane.wanted(this.#packs.room)
    const mayExpire = mayTake === 0 && this.#packs.room > 0
    const isForExpired = mayExpire && (await this.#expiry.isDue(this.#config, source.partition))
    // Looks again after a short time: the lane may have stopped probing. A pack that it does not want is given back.
    if (mayTake === 0 && !isForExpired && !this.sources.mustAsk(source))
      return this.#packs.one(lookAgainMs, signal)
    if (isForExpired) source.hasBacklog = true
    const take = (message: PulledMessage): void => this.#take(source, message)
    const options = { wanted: mayTake || (isForExpired ? expiredMax : 1), budget: this.#deps.budget, take }
    await fetchPacks(source, consumer, options, signal)
  }

  /** Must its packs wait for a consumer of its own, because it fails, is paused or has enough to do? */
  get needsOwn(): boolean {
    return !this.isHealthy || this.#lane.wanted(this.#packs.room) === 0
  }

  /** Takes a pack that the shared consumer delivered; false if it must wait for its own, where older ones may be. */
  takeShared(source: PackSource, message: PulledMessage): boolean {
    // A lane that probes takes one, or it would not learn that its destination works again.
    const mayProbe = this.#lane.probing && !this.#pause.isOn && this.sources.isEmpty
    const mayTake = this.needsOwn
      ? mayProbe && this.#lane.wanted(this.#packs.room) > 0
      : this.sources.areQuietFor()
    if (mayTake) this.#take(source, message)
    return mayTake
  }

  #take(source: PackSource, message: PulledMessage): void {
    const inFlight = source.reader.begin(message)
    if (inFlight === undefined) return
    this.#takenMs = monotonicMs()
    const isExpired = !this.isHealthy && firstStoredAtMs(message) < this.#expiry.beforeMs(this.#config)
    // A message can be on its way when the pause begins.
    if (this.#pause.isOn && !isExpired) source.reader.giveBack(inFlight, giveBackDelayMsMax)
    else this.#begin({ ...source, inFlight }, message, isExpired)
  }

  #begin(taken: TakenMessage, message: PulledMessage, isExpired: boolean): void {
    const { id } = this.#config
    const contents = packContents(id, message)
    const read = this.#deps.packs.take(id, contentsIdIn(contents.pack, id), message.data)
    const { events, release } = read
    reportMalformed(this.#deps, id, { ...taken.partition, message }, read)
    const trace = deliveryTrace(message, this.#config, contents.pack, events.length)
    const pack = { sequence: message.sequence, storedAtMs: firstStoredAtMs(message), contents, events, trace }
    const end = (): Promise<void> => (isExpired ? this.#drop(taken, pack) : this.#deliver(taken, pack))
    this.#packs.add(contents.pack, events, () => end().finally(release))
  }

  // --- packs that are too old ---

  /** Does it accept events? Then it gets them, however old they are. */
  get isHealthy(): boolean {
    return !this.#pause.isOn && this.#lane.isHealthy
  }

  /** Drops packs that the lane holds and that are too old. */
  expire(): void {
    if (!this.isHealthy) this.#lane.expire(this.#expiry.beforeMs(this.#config))
  }

  #drop(taken: TakenMessage, pack: ReadPack): Promise<void> {
    this.#expiry.dropped()
    const counts = { delivered: 0, dead_lettered: 0, retried: 0 }
    return this.#end(taken, pack, { outcome: 'done', counts, dropped: pack.events })
  }

  // --- a pack, from its arrival to its acknowledgement ---

  async #deliver(taken: TakenMessage, pack: ReadPack): Promise<void> {
    const { sequence, storedAtMs, contents, events, trace } = pack
    if (contents.stream === resentInput) this.#dead.sentAgain(events, contents.pack)
    const result = await this.#lane.deliver(events, sequence, storedAtMs, trace)
    if (result.outcome === 'done') return this.#end(taken, pack, result)
    taken.reader.giveBack(taken.inFlight, Math.min(result.delayMs, giveBackDelayMsMax))
    endDelivery(trace, {}, 'given back')
    await this.#countRetried(result.retried)
  }

  /** Each event was accepted, is in the dead letters, or is dropped. */
  async #end(
    { reader, inFlight }: TakenMessage,
    { contents, events, trace }: ReadPack,
    { counts, dropped = [] }: EndedPack,
  ): Promise<void> {
    const { occurrences } = this.#deps
    const { delivered, retried } = counts
    const { last_success_at, last_error } = this.#lane.status()
    try {
      await this.#deps.ledger.write([
        {
          type: 'delivered',
          target: this.#config.kind,
          ...contents,
          dead: this.#dead.perMessage(events, contents.segments),
          ...(dropped.length > 0 && { dropped: droppedEvents(events, dropped, contents.segments) }),
          retried,
          last: { last_success_at, last_error },
        },
      ])
    } catch {
      // The ledger closes. The pack is redelivered: its events may arrive twice, but none is left uncounted.
      return endDelivery(trace, {}, 'stopped')
    }
    reader.acknowledge(inFlight)
    endDelivery(trace, outcomesOf(counts, dropped.length))
    const [first] = events
    // Replayed events carry the time at which their record arrived first.
    if (first !== undefined && delivered > 0 && isRecordsInput(contents.stream))
      occurrences.deliveryTimed({ target: this.#config.kind }, Math.max(0, now() - first.timestampMs) / 1000)
    occurrences.eventsDelivered({ target: this.#config.kind }, delivered)
    occurrences.eventsRetried({ target: this.#config.kind }, retried)
  }

  /** Counts retries of a pack that is given back: the process that ends it does not know of them. */
  async #countRetried(retried: number): Promise<void> {
    if (retried === 0) return
    const { id, kind } = this.#config
    this.#deps.occurrences.eventsRetried({ target: kind }, retried)
    await this.#deps.ledger.write([{ type: 'retried', destination: id, retried }]).catch(() => {
      // The ledger closes. Nothing depends on this count.
    })
  }

  async close(): Promise<void> {
    await this.sources.stop()
    this.#pause.close()
    // A pack that was begun is finished, or its events would be sent again; the others are left to another process.
    this.#lane.finish()
    const ended = this.#packs.all()
    const drained = new AbortController()
    if (!this.#lane.probing && !this.#pause.isOn)
      await Promise.race([ended, sleep(stopDrainWithinMs, drained.signal)])
    drained.abort()
    await this.#lane.close()
    await ended
    await this.sources.close()
  }
}
