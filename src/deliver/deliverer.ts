/**
 * Delivery of all destinations in one process: a lane per destination, fed by the destination's durable consumer.
 *
 * A pack is acknowledged when each of its events was accepted or lies in the dead letters, and the ledger says so.
 * While a destination is probed it holds one pack; what else it fetched goes back with a delay, and nothing more is
 * fetched. Destinations share one budget of bytes, so that many slow ones can't fill the memory.
 */
import { every, sleep, type Timer } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import { packsInHandBytesMax, packsInHandMax } from '../core/limits.js'
import { type Consumer, type Nats, type PulledMessage, pulled } from '../core/nats.js'
import type { Occurrences } from '../core/occurrences.js'
import type { DestinationConfig, Fault, Sender } from './destination.js'
import type { LaneStatus } from './health.js'
import { Lane } from './lane.js'
import type { LaneSettings } from './lane-settings.js'
import { type InputStream, type LedgerWriter, parseSegments } from './ledger.js'
import { type PackedEvent, readPack } from './pack.js'

export const deliveriesStream = 'WEIR_DELIVERIES'
export const deliverySubject = (destinationId: string): string => `weir.deliveries.${destinationId}`
export const deadEventsSubject = 'weir.deadletter.events'

/** Headers of a pack. */
export const packHeaders = {
  events: 'Weir-Events',
  stream: 'Weir-Stream',
  since: 'Weir-Stream-Since',
  segments: 'Weir-Segments',
} as const

const ackWaitMs = 30_000
const ackPendingMax = 1_000
const fetchMax = 8
const fetchWaitMs = 5_000
/** What waits for room, or for a probe, looks again after this. */
const lookAgainMs = 200
const failedFetchPauseMs = 500
const drainMaxMs = 4_000

export interface DelivererDeps {
  readonly nats: Nats
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly openSender: (config: DestinationConfig) => Sender
  readonly laneSettings?: Partial<LaneSettings>
}

export class Deliverer {
  readonly #deps: DelivererDeps
  readonly #runs = new Map<string, DestinationRun>()
  readonly #budget = new ByteBudget(packsInHandBytesMax)
  readonly #dropped = new Set<string>()
  #updating = Promise.resolve()

  constructor(deps: DelivererDeps) {
    this.#deps = deps
  }

  /** Brings the lanes in line with the destinations there are; `gone` are those known to be deleted. */
  update(configs: readonly DestinationConfig[], gone: readonly string[]): Promise<void> {
    this.#updating = this.#updating.then(() => this.#update(configs, gone))
    return this.#updating
  }

  async #update(configs: readonly DestinationConfig[], gone: readonly string[]): Promise<void> {
    for (const config of configs) {
      const run = this.#runs.get(config.id)
      if (run === undefined) this.#runs.set(config.id, new DestinationRun(config, this.#deps, this.#budget))
      else run.retarget(config)
    }
    await Promise.all(gone.map((id) => this.#dropped.has(id) || this.#drop(id)))
  }

  /** A deleted destination's backlog is dropped, and counted. */
  async #drop(id: string): Promise<void> {
    const run = this.#runs.get(id)
    this.#runs.delete(id)
    await run?.close()
    const { nats, ledger, occurrences } = this.#deps
    try {
      const waiting = await nats.nextMessage(deliveriesStream, deliverySubject(id))
      const consumer = await nats.consumerInfo(deliveriesStream, id)
      this.#dropped.add(id)
      if (waiting === undefined && consumer === undefined) return
      await nats.purgeSubject(deliveriesStream, deliverySubject(id))
      await nats.deleteConsumer(deliveriesStream, id)
      await ledger.write([{ type: 'dropped', destination: id }])
      occurrences.backlogDropped({ destination_id: id })
    } catch (error) {
      occurrences.deliveryFaulted({ destination_id: id, reason: messageOf(error) })
    }
  }

  statusOf(destinationId: string): LaneStatus | undefined {
    return this.#runs.get(destinationId)?.status()
  }

  async close(): Promise<void> {
    await this.#updating
    await Promise.all([...this.#runs.values()].map((run) => run.close()))
  }
}

/** One destination in this process: fetches its packs and sees each to its end. */
class DestinationRun {
  readonly #deps: DelivererDeps
  readonly #budget: ByteBudget
  readonly #lane: Lane
  readonly #inHand = new Set<PulledMessage>()
  readonly #stop = new AbortController()
  readonly #ended = new Set<Promise<void>>()
  readonly #progress: Timer
  readonly #running: Promise<void>
  #config: DestinationConfig
  #cancelFetch: (() => void) | undefined

  constructor(config: DestinationConfig, deps: DelivererDeps, budget: ByteBudget) {
    this.#config = config
    this.#deps = deps
    this.#budget = budget
    this.#lane = new Lane(config, {
      open: deps.openSender,
      deadLetter: (event, fault) => this.#deadLetter(event, fault),
      changed: (status) => this.#reportState(status),
      ...(deps.laneSettings === undefined ? {} : { settings: deps.laneSettings }),
    })
    // Packs in hand are ours for as long as we say so.
    this.#progress = every(ackWaitMs / 3, () => {
      for (const { native } of this.#inHand) native.working()
    })
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

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const consumer = await this.#deps.nats.ensureConsumer({
          stream: deliveriesStream,
          name: this.#config.id,
          filter: deliverySubject(this.#config.id),
          ackWaitMs,
          ackPendingMax,
        })
        while (!signal.aborted) await this.#fetch(consumer, signal)
      } catch (error) {
        if (signal.aborted) return
        this.#deps.occurrences.deliveryFaulted({ destination_id: this.#config.id, reason: messageOf(error) })
        await sleep(failedFetchPauseMs, signal)
      }
    }
  }

  async #fetch(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const mayTake = this.#lane.probing ? 1 : packsInHandMax
    if (this.#inHand.size >= mayTake || !this.#budget.hasRoom) return sleep(lookAgainMs, signal)
    const packsMax = this.#lane.probing ? 1 : Math.min(fetchMax, packsInHandMax - this.#inHand.size)
    const messages = await consumer.fetch({ max_messages: packsMax, expires: fetchWaitMs })
    this.#cancelFetch = () => messages.stop()
    if (signal.aborted) messages.stop()
    for await (const message of messages) this.#take(pulled(message))
  }

  #take(message: PulledMessage): void {
    this.#inHand.add(message)
    this.#budget.take(message.data.length)
    const ended = this.#deliver(message).finally(() => {
      this.#inHand.delete(message)
      this.#budget.give(message.data.length)
      this.#ended.delete(ended)
    })
    this.#ended.add(ended)
  }

  async #deliver(message: PulledMessage): Promise<void> {
    const { ledger, occurrences } = this.#deps
    const { events, malformed } = readPack(message.data)
    for (const { line, reason } of malformed) {
      occurrences.packLineMalformed({ destination_id: this.#config.id, line, reason })
    }
    const result = await this.#lane.deliver(events)
    if (result.outcome === 'returned') {
      message.native.nak(result.delayMs)
      return
    }
    try {
      await ledger.write([
        {
          type: 'delivered',
          destination: this.#config.id,
          sequence: message.sequence,
          stream: (message.headers?.get(packHeaders.stream) || 'records') as InputStream,
          since: message.headers?.get(packHeaders.since) ?? '',
          segments: parseSegments(message.headers?.get(packHeaders.segments) ?? ''),
          ...result.counts,
        },
      ])
      message.native.ack()
      occurrences.eventsDelivered({ target: this.#config.kind }, result.counts.delivered)
      occurrences.eventsRetried({ target: this.#config.kind }, result.counts.retried)
    } catch (error) {
      // Not acknowledged, so it comes again: rather twice than uncounted.
      occurrences.deliveryFaulted({ destination_id: this.#config.id, reason: messageOf(error) })
    }
  }

  async #deadLetter(event: PackedEvent, fault: Fault): Promise<void> {
    await this.#deps.nats.publish(deadEventsSubject, event.data, {
      msgId: `${this.#config.id}.${event.id}`,
      signal: this.#stop.signal,
      headers: {
        'Weir-Reason': `${fault.code}: ${fault.msg}`.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 500),
        'Weir-Destination': this.#config.id,
        'Weir-Event-Id': event.id,
      },
    })
    this.#deps.occurrences.eventDeadLettered({
      target: this.#config.kind,
      destination_id: this.#config.id,
      event_id: event.id,
      reason: fault.msg,
    })
  }

  #reportState(status: LaneStatus): void {
    const fields = {
      target: this.#config.kind,
      destination_id: this.#config.id,
      state: status.state,
      cause: status.cause,
      last_error: status.last_error,
    }
    if (status.state === 'healthy') this.#deps.occurrences.destinationHealthy(fields)
    else if (status.state === 'paused') this.#deps.occurrences.destinationPaused(fields)
    else this.#deps.occurrences.destinationStruggles(fields)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#cancelFetch?.()
    await this.#running
    // A pack that is nearly through ends well; what a lane gives back is delivered again by another.
    if (!this.#lane.probing) await Promise.race([Promise.allSettled(this.#ended), sleep(drainMaxMs)])
    await this.#lane.close()
    await Promise.allSettled(this.#ended)
    this.#progress.stop()
  }
}

/** Bytes that all lanes together may hold. */
class ByteBudget {
  readonly #max: number
  #taken = 0

  constructor(max: number) {
    this.#max = max
  }

  get hasRoom(): boolean {
    return this.#taken < this.#max
  }

  take(bytes: number): void {
    this.#taken += bytes
  }

  give(bytes: number): void {
    this.#taken -= bytes
  }
}
