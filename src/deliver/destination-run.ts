/**
 * One destination in one process: a lane, fed by the destination's durable consumer.
 *
 * A pack is acknowledged when each of its events was accepted or lies in the dead letters, and the ledger says so.
 * While a destination is probed, its run holds packs that were accepted in part, or one pack; other packs it fetched
 * are given back with a delay, and nothing more is fetched. While it is paused by hand, nothing is fetched at all. But
 * packs that are too old (`expiry.ts`) are fetched in any case, entered in the ledger as dropped, and acknowledged.
 */
import { type LedgerWriter, type PackContents, packContents, resentInput } from '../books/ledger.js'
import { now, sleep } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { packBytesTarget } from '../core/limits.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Consumer } from '../nats/consumers.js'
import type { MessageInFlight } from '../nats/durable-reader.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { pullBatch } from '../nats/pull.js'
import { contentsIdIn } from '../wire/pack-message.js'
import type { PackedEvent } from '../wire/packed-event.js'
import { isRecordsInput, type Partition, type PartitionSet } from '../wire/partitions.js'
import type { AttemptLog } from './attempt-log.js'
import type { ByteBudget } from './byte-budget.js'
import { DeadEvents } from './dead-events.js'
import { type DestinationConfig, type Sender, targetOf } from './destination.js'
import { droppedEvents, Expiry } from './expiry.js'
import { type LaneStatus, pausedByHand } from './health.js'
import type { PackResult } from './job.js'
import { HandPause } from './lane/hand-pause.js'
import { Lane } from './lane/lane.js'
import type { LaneSettings } from './lane/lane-settings.js'
import { type PackSource, PackSources } from './pack-sources.js'
import { PacksInFlight } from './packs-in-flight.js'
import type { SharedPacks } from './shared-packs.js'

const fetchMax = 8
/** How often a run that waits for room, or for a probe, looks again. */
const lookAgainMs = 100
/** While the lane probes, nothing is fetched; once the probe succeeds, packs that were given back come soon. */
const giveBackDelayMsMax = 1_000
/** Time limits of a stop: for packs of which some events were sent, and then for the requests under way. */
const stopDrainWithinMs = 6_000
const stopLane: Partial<LaneSettings> = { closeTimeoutMs: 500, abortTimeoutMs: 500 }

export interface DestinationRunDeps {
  readonly nats: Nats
  readonly partitions: PartitionSet
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly openSender: (config: DestinationConfig) => Sender
  readonly laneSettings?: Partial<LaneSettings>
  readonly retentionMs: number
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
}

/** A pack's message, and where it is acknowledged. */
type TakenMessage = Pick<PackSource, 'reader'> & { readonly inFlight: MessageInFlight }

type EndedPack = Extract<PackResult, { outcome: 'done' }>

export class DestinationRun {
  readonly #deps: DestinationRunDeps
  readonly #lane: Lane
  readonly #pause: HandPause
  readonly #sources: PackSources
  readonly #packs: PacksInFlight
  readonly #expiry: Expiry
  readonly #dead: DeadEvents
  #config: DestinationConfig

  constructor(config: DestinationConfig, deps: DestinationRunDeps) {
    this.#config = config
    this.#deps = deps
    this.#packs = new PacksInFlight(deps.budget, () => this.#lane.collects)
    this.#dead = new DeadEvents(deps)
    this.#expiry = new Expiry(deps.nats, deps.retentionMs)
    this.#lane = new Lane(config, {
      open: deps.openSender,
      deadLetter: (event, fault) => this.#dead.park(event, fault, this.#config, this.#sources.stopping),
      changed: (status) => {
        if (!this.#pause.isOn) this.#reportState(status)
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
    this.#sources = new PackSources(config.id, deps.partitions.homeOf(config.id), {
      nats: deps.nats,
      pull: (source, consumer, signal) => this.#pull(source, consumer, signal),
      unavailable: (error) => deps.occurrences.deliveryFaulted({ ...ofIt, reason: messageOf(error) }),
      stoppedEarly: (messages) => deps.occurrences.stoppedEarly({ ...ofIt, messages }),
    })
  }

  /** Also reads its packs in these partitions, besides its own, and in no others any more. */
  readonly drain = (partitions: ReadonlySet<Partition>): Promise<void> => this.#sources.drain(partitions)

  readonly status = (): LaneStatus => this.#pause.over(this.#lane.status())

  /** The kind of its target. */
  get target(): string {
    return this.#config.kind
  }

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
    if (this.#pause.isOn !== before) this.#reportState(this.status())
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
    if (mayTake === 0 && !isForExpired) return this.#packEnds(signal)
    const { budget } = this.#deps
    const hasBacklog = source.hasBacklog || isForExpired
    const wanted = hasBacklog ? Math.min(fetchMax, mayTake || fetchMax) : 1
    // A destination without backlog reserves nothing: there may be thousands of them.
    const reserved = hasBacklog ? wanted * packBytesTarget : 0
    if (!budget.reserve(reserved)) return sleep(lookAgainMs, signal)
    try {
      source.hasBacklog = false
      for await (const message of pullBatch(consumer, wanted, signal)) this.#take(source, message)
    } finally {
      budget.give(reserved)
    }
  }

  /** Waits until a pack in flight ends, or for a short time: the lane may have stopped probing. */
  async #packEnds(signal: AbortSignal): Promise<void> {
    await Promise.race([this.#packs.one(), sleep(lookAgainMs, signal)])
  }

  #take(source: PackSource, message: PulledMessage): void {
    source.hasBacklog = message.pending > 0
    const inFlight = source.reader.begin(message)
    if (inFlight === undefined) return
    const isExpired = this.#isStuck && message.storedAtMs < this.#expiry.beforeMs(this.#config)
    // A message can be on its way when the pause begins.
    if (this.#pause.isOn && !isExpired) source.reader.giveBack(inFlight, giveBackDelayMsMax)
    else this.#begin({ reader: source.reader, inFlight }, message, isExpired)
  }

  #begin(taken: TakenMessage, message: PulledMessage, isExpired: boolean): void {
    const { id } = this.#config
    const contents = packContents(id, message)
    const { packs, occurrences } = this.#deps
    const { events, malformed, release } = packs.take(id, contentsIdIn(contents.pack, id), message.data)
    for (const { line, reason } of malformed)
      occurrences.packLineMalformed({ destination_id: id, line, reason })
    const { sequence, storedAtMs } = message
    const pack = { sequence, storedAtMs, contents, events }
    const end = (): Promise<void> => (isExpired ? this.#drop(taken, pack) : this.#deliver(taken, pack))
    this.#packs.add(contents.pack, events, () => end().finally(release))
  }

  // --- packs that are too old ---

  /** Does it wait? A destination that accepts events gets them, however old they are. */
  get #isStuck(): boolean {
    return this.#pause.isOn || this.#lane.status().state !== 'healthy'
  }

  /** Drops packs that the lane holds and that are too old. */
  expire(): void {
    if (this.#isStuck) this.#lane.expire(this.#expiry.beforeMs(this.#config))
  }

  #drop(taken: TakenMessage, pack: ReadPack): Promise<void> {
    this.#expiry.dropped()
    const counts = { delivered: 0, dead_lettered: 0, retried: 0 }
    return this.#end(taken, pack, { outcome: 'done', counts, dropped: pack.events })
  }

  // --- a pack, from its arrival to its acknowledgement ---

  async #deliver(taken: TakenMessage, pack: ReadPack): Promise<void> {
    const { sequence, storedAtMs, contents, events } = pack
    if (contents.stream === resentInput) this.#dead.sentAgain(events, contents.pack)
    const result = await this.#lane.deliver(events, sequence, storedAtMs)
    if (result.outcome === 'done') return this.#end(taken, pack, result)
    taken.reader.giveBack(taken.inFlight, Math.min(result.delayMs, giveBackDelayMsMax))
    await this.#countRetried(result.retried)
  }

  /** Each event was accepted, is in the dead letters, or is dropped. */
  async #end(
    { reader, inFlight }: TakenMessage,
    { contents, events }: ReadPack,
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
      return
    }
    reader.acknowledge(inFlight)
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

  #reportState({ state, cause, last_error }: LaneStatus): void {
    const { occurrences } = this.#deps
    const fields = { target: this.#config.kind, destination_id: this.#config.id, state, cause, last_error }
    if (cause === pausedByHand) occurrences.destinationPausedByHand(fields)
    else if (state === 'healthy') occurrences.destinationHealthy(fields)
    else if (state === 'paused') occurrences.destinationPaused(fields)
    else occurrences.destinationStruggles(fields)
  }

  async close(): Promise<void> {
    await this.#sources.stop()
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
    await this.#sources.close()
  }
}
