/**
 * One destination in one process: a lane, fed by the destination's durable consumer.
 *
 * A pack is acknowledged when each of its events was accepted or lies in the dead letters, and the ledger says so.
 * While a destination is probed it holds packs that were accepted in part, or one; what else it fetched goes back with
 * a delay, and nothing more is fetched. A pack that was acknowledged and comes again, because the acknowledgement was lost, is acknowledged again.
 */

import type { LedgerWriter } from '../books/ledger.js'
import { every, sleep, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { packBytesTarget, packsInHandMax } from '../core/limits.js'
import type { Occurrences } from '../core/occurrences.js'
import { Recent } from '../core/recent.js'
import type { Consumer } from '../nats/consumers.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { pullBatch } from '../nats/pull.js'
import type { LastOutcomes } from '../wire/last-outcomes.js'
import { deadEventsSubject, deadLetterHeaders, deliveriesStream, deliverySubject } from '../wire/names.js'
import { type PackedEvent, readPack } from '../wire/pack.js'
import type { ByteBudget } from './byte-budget.js'
import { DeadEvents } from './dead-events.js'
import type { DestinationConfig, Fault, Sender } from './destination.js'
import type { LaneStatus } from './health.js'
import { Lane } from './lane.js'
import type { LaneSettings } from './lane-settings.js'
import { packContents } from './pack-headers.js'

/** What a process held that died is delivered again after this. */
const ackWaitMs = 10_000
const ackPendingMax = 1_000
const fetchMax = 8
/** What waits for room, or for a probe, looks again after this. */
const lookAgainMs = 100
const failedFetchPauseMs = 500
/** A pack that is given back is not fetched while the lane probes; once it does not, nothing should hold it up. */
const giveBackDelayMsMax = 1_000
const endedKept = 1_000
/** A stop: for packs of which some events were sent, and then for the requests under way. */
const stopDrainWithinMs = 6_000
const stopLane: Partial<LaneSettings> = { closeTimeoutMs: 500, abortTimeoutMs: 500 }

export interface DestinationRunDeps {
  readonly nats: Nats
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly openSender: (config: DestinationConfig) => Sender
  readonly laneSettings?: Partial<LaneSettings>
  readonly budget: ByteBudget
}

interface PackInHand {
  readonly pack: string
  /** As it was delivered last. */
  message: PulledMessage
}

export class DestinationRun {
  readonly #deps: DestinationRunDeps
  readonly #lane: Lane
  /** By sequence. */
  readonly #inHand = new Map<number, PackInHand>()
  readonly #ended = new Recent<string>(endedKept)
  readonly #delivering = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  readonly #progress: Timer
  readonly #running: Promise<void>
  readonly #dead = new DeadEvents()
  #config: DestinationConfig
  #session = new AbortController()
  #hasBacklog = false
  #acknowledgedLast: PulledMessage | undefined

  constructor(config: DestinationConfig, deps: DestinationRunDeps) {
    this.#config = config
    this.#deps = deps
    this.#lane = new Lane(config, {
      open: deps.openSender,
      deadLetter: (event, fault) => this.#deadLetter(event, fault),
      changed: (status) => this.#reportState(status),
      settings: { ...stopLane, ...deps.laneSettings },
      budget: deps.budget,
    })
    // Packs in hand are ours for as long as we say so.
    this.#progress = every(ackWaitMs / 3, () => {
      for (const { message } of this.#inHand.values()) message.native.working()
    })
    this.#introduce()
    this.#running = this.#run()
  }

  status(): LaneStatus {
    return this.#lane.status()
  }

  retarget(config: DestinationConfig): void {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return
    this.#config = config
    this.#lane.retarget(config)
  }

  /** Looks at the consumer anew: a server that came back may have another stream, or one that was put back. */
  reopen(): void {
    this.#introduce()
    this.#session.abort()
  }

  /** Tells the books what kind of destination this is, for the time after its deletion. */
  #introduce(): void {
    const { id, kind } = this.#config
    this.#deps.ledger.write([{ type: 'destination', destination: id, target: kind }]).catch(() => {
      // The ledger closes, and so does this run: the next process tells it.
    })
  }

  // --- fetching ---

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        this.#session = new AbortController()
        const { consumer } = await this.#deps.nats.openConsumer({
          stream: deliveriesStream,
          name: this.#config.id,
          filter: deliverySubject(this.#config.id),
          ackWaitMs,
          ackPendingMax,
        })
        const until = AbortSignal.any([signal, this.#session.signal])
        while (!until.aborted) await this.#fetch(consumer, until)
      } catch (error) {
        if (signal.aborted) return
        this.#deps.occurrences.deliveryFaulted({ destination_id: this.#config.id, reason: messageOf(error) })
        await sleep(failedFetchPauseMs, signal)
      }
    }
  }

  async #fetch(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const mayTake = this.#lane.wanted(packsInHandMax - this.#inHand.size)
    if (mayTake === 0) return this.#packEnds(signal)
    const { budget } = this.#deps
    const wanted = this.#hasBacklog ? Math.min(fetchMax, mayTake) : 1
    // Whoever waits for the next event sets nothing apart: there may be thousands who do.
    const reserved = this.#hasBacklog ? wanted * packBytesTarget : 0
    if (!budget.reserve(reserved)) return sleep(lookAgainMs, signal)
    try {
      this.#hasBacklog = false
      for await (const message of pullBatch(consumer, wanted, signal)) this.#take(message)
    } finally {
      budget.give(reserved)
    }
  }

  /** A pack in hand ends, or some time passes: whether the lane still probes is worth a look then. */
  async #packEnds(signal: AbortSignal): Promise<void> {
    await Promise.race([...this.#delivering, sleep(lookAgainMs, signal)])
  }

  #take(message: PulledMessage): void {
    this.#hasBacklog = message.native.info.pending > 0
    const { pack } = packContents(this.#config.id, message)
    if (this.#ended.has(pack)) {
      this.#acknowledge(message)
      return
    }
    const known = this.#inHand.get(message.sequence)
    if (known?.pack === pack) {
      known.message = message
      return
    }
    const inHand = { pack, message }
    this.#inHand.set(message.sequence, inHand)
    this.#deps.budget.take(message.data.length)
    const delivering = this.#deliver(inHand).finally(() => {
      if (this.#isInHand(inHand)) this.#inHand.delete(message.sequence)
      this.#deps.budget.give(message.data.length)
      this.#delivering.delete(delivering)
    })
    this.#delivering.add(delivering)
  }

  /** In a stream that was put back, its sequence may be that of another pack by now. */
  #isInHand(inHand: PackInHand): boolean {
    return this.#inHand.get(inHand.message.sequence) === inHand
  }

  // --- a pack, from its coming to its end ---

  async #deliver(inHand: PackInHand): Promise<void> {
    const { pack, message } = inHand
    const { occurrences } = this.#deps
    const { events, malformed } = readPack(message.data)
    for (const { line, reason } of malformed)
      occurrences.packLineMalformed({ destination_id: this.#config.id, line, reason })
    const result = await this.#lane.deliver(events)
    if (result.outcome === 'returned') {
      if (this.#isInHand(inHand)) inHand.message.native.nak(Math.min(result.delayMs, giveBackDelayMsMax))
      return this.#countRetried(result.retried)
    }
    const { delivered, retried } = result.counts
    const contents = packContents(this.#config.id, message)
    try {
      await this.#deps.ledger.write([
        {
          type: 'delivered',
          target: this.#config.kind,
          ...contents,
          dead: this.#dead.perMessage(events, contents.segments),
          retried,
          last: this.#lastOutcomes(),
        },
      ])
    } catch {
      // The ledger closes. Not acknowledged, so it comes again: rather twice than uncounted.
      return
    }
    this.#ended.add(pack)
    if (this.#isInHand(inHand)) this.#acknowledge(inHand.message)
    occurrences.eventsDelivered({ target: this.#config.kind }, delivered)
    occurrences.eventsRetried({ target: this.#config.kind }, retried)
  }

  #acknowledge(message: PulledMessage): void {
    message.native.ack()
    this.#acknowledgedLast = message
  }

  #lastOutcomes(): LastOutcomes {
    const { last_success_at, last_error } = this.#lane.status()
    return { last_success_at, last_error }
  }

  /** Of a pack that was given back: whoever ends it does not know how often its events were sent before. */
  async #countRetried(retried: number): Promise<void> {
    if (retried === 0) return
    const { id, kind } = this.#config
    this.#deps.occurrences.eventsRetried({ target: kind }, retried)
    await this.#deps.ledger.write([{ type: 'retried', destination: id, retried }]).catch(() => {
      // The ledger closes. These count for nothing else, and nothing waits for them.
    })
  }

  async #deadLetter(event: PackedEvent, fault: Fault): Promise<void> {
    await this.#deps.nats.publish(deadEventsSubject, event.data, {
      msgId: `${this.#config.id}.${event.id}`,
      signal: this.#stop.signal,
      headers: {
        [deadLetterHeaders.reason]: `${fault.code}: ${fault.msg}`
          .replaceAll(/[^\x20-\x7e]/g, '?')
          .slice(0, 500),
        [deadLetterHeaders.destination]: this.#config.id,
        [deadLetterHeaders.eventId]: event.id,
      },
    })
    this.#dead.add(event)
    this.#deps.occurrences.eventDeadLettered({
      target: this.#config.kind,
      destination_id: this.#config.id,
      event_id: event.id,
      reason: fault.msg,
    })
  }

  #reportState({ state, cause, last_error }: LaneStatus): void {
    const { occurrences } = this.#deps
    const fields = { target: this.#config.kind, destination_id: this.#config.id, state, cause, last_error }
    if (state === 'healthy') occurrences.destinationHealthy(fields)
    else if (state === 'paused') occurrences.destinationPaused(fields)
    else occurrences.destinationStruggles(fields)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    // A pack that was begun ends well, or its events would be sent again; the others are left to another process.
    this.#lane.finish()
    const ended = Promise.all(this.#delivering)
    const drained = new AbortController()
    if (!this.#lane.probing) await Promise.race([ended, sleep(stopDrainWithinMs, drained.signal)])
    drained.abort()
    await this.#lane.close()
    await ended
    this.#progress.stop()
    const { nats, occurrences } = this.#deps
    const last = this.#acknowledgedLast
    if (last !== undefined && !(await nats.confirmAcks(last)))
      occurrences.stoppedEarly({ destination_id: this.#config.id, messages: 0 })
  }
}
