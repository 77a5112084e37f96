/**
 * The consumer of a partition that idle destinations share. It hands each pack to the run of its destination. One that can't
 * take it, because it fails, is paused or has enough to do, gets the pack from its own consumer, so that nothing waits
 * behind it.
 */

import { monotonicMs } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Consumer } from '../../ground/nats/consumers.js'
import { AcknowledgedContents, DurableReader } from '../../ground/nats/durable-reader.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import { type LedgerWriter, packContents } from '../books/ledger.js'
import { storeAgain } from '../books/stored-packs.js'
import { type Partition, placeOfSubject, sharedConsumer, sharedSubject } from '../wire/partitions.js'
import type { ByteBudget } from './lane/byte-budget.js'
import { fetchPacks, type PackSource } from './pack-sources.js'

/** Lanes that collect hold packs for minutes, and there may be thousands of them: each process has bounds of its own. */
const ackPendingMax = 1_000_000
const acknowledgedMax = 10_000
const fetchMax = 8
/** A pack whose destination is not known here comes again after this time: its configuration may be on its way. */
const unknownAgainMs = 2_000
/** After so many deliveries, it waits for its own consumer, like those of any destination without a deliverer. */
const unknownDeliveriesMax = 3
/**
 * A pack that can't be stored again comes again after this time: the server delivers such packs before new ones. If the
 * stream is full, there may be many of them, and one is tried for all.
 */
const unmovedDefault = { againMs: 30_000, tryEveryMs: 5_000 }
/** One try: the others wait behind it. */
const movePatience = { patienceMs: 0 }

/**
 * The fate of a pack: its destination `took` it, it must be `moved` to its own consumer, or `dropped`, because the
 * destination was deleted, or its destination is `unknown`.
 */
export type Offered = 'took' | 'moved' | 'dropped' | 'unknown'

export interface SharedConsumerOptions {
  /** Nothing is pulled before: packs that wait for destinations' own consumers are older. */
  readonly opens: Promise<void>
  readonly nats: Pick<Nats, 'openConsumer' | 'acknowledgements' | 'onReconnect' | 'publish'>
  readonly ledger: Pick<LedgerWriter, 'write'>
  readonly occurrences: Pick<Occurrences, 'deliveryFaulted' | 'stoppedEarly'>
  readonly budget: Pick<ByteBudget, 'reserve' | 'give'>
  readonly offer: (destination: string, source: PackSource, message: PulledMessage) => Offered
  /** A pack was moved: the destination needs its own consumer. */
  readonly moved: (destination: string, partition: Partition) => void
  readonly unmoved?: { readonly againMs: number; readonly tryEveryMs: number }
}

export class SharedConsumer {
  readonly #options: SharedConsumerOptions
  readonly #source: PackSource
  /** The last try to move a pack failed; until then, no other is made. Milliseconds, monotonic. */
  #noMoveUntilMs = 0
  #closing: Promise<void> | undefined

  constructor(partition: Partition, options: SharedConsumerOptions) {
    this.#options = options
    const { nats, occurrences } = options
    const filter = sharedSubject(partition, '*')
    const reader = new DurableReader({
      nats,
      consumer: { stream: partition.deliveriesStream, name: sharedConsumer, filter, ackPendingMax },
      acknowledged: new AcknowledgedContents(acknowledgedMax, (message) => contentsOf(message).pack),
      pull: (consumer, signal) => this.#pull(consumer, signal),
      unavailable: (error) => occurrences.deliveryFaulted({ reason: messageOf(error) }),
      stoppedEarly: (messages) => occurrences.stoppedEarly({ messages }),
    })
    this.#source = { partition, reader, hasBacklog: false, neededMs: 0, askedMs: 0 }
    void options.opens.then(() => reader.stopping.aborted || reader.open())
  }

  async #pull(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const take = (message: PulledMessage) => this.#take(message)
    const options = { wanted: fetchMax, budget: this.#options.budget, take }
    while (!signal.aborted) await fetchPacks(this.#source, consumer, options, signal)
  }

  async #take(message: PulledMessage): Promise<void> {
    const { destination } = placeOfSubject(message.subject)
    const { reader } = this.#source
    const offered = this.#options.offer(destination, this.#source, message)
    if (offered === 'took') return
    // Another process goes on with it.
    if (reader.stopping.aborted) return reader.refuse(message)
    const inFlight = reader.begin(message)
    if (inFlight === undefined) return
    if (offered === 'unknown' && message.deliveries < unknownDeliveriesMax)
      return reader.giveBack(inFlight, unknownAgainMs)
    const { occurrences, unmoved = unmovedDefault } = this.#options
    const isDropped = offered === 'dropped'
    if (!isDropped && monotonicMs() < this.#noMoveUntilMs) return reader.giveBack(inFlight, unmoved.againMs)
    try {
      await (isDropped ? this.#drop(destination) : this.#move(destination, message))
      reader.acknowledge(inFlight)
    } catch (error) {
      if (!isDropped) this.#noMoveUntilMs = monotonicMs() + unmoved.tryEveryMs
      occurrences.deliveryFaulted({ destination_id: destination, reason: messageOf(error) })
      reader.giveBack(inFlight, unmoved.againMs)
    }
  }

  /** The books count its events as dropped with the rest of the backlog. */
  #drop(destination: string): Promise<void> {
    return this.#options.ledger.write([{ type: 'dropped', destination }])
  }

  async #move(destination: string, message: PulledMessage): Promise<void> {
    const { nats, ledger, moved } = this.#options
    const { partition } = this.#source
    const pack = { contents: contentsOf(message), partition, message }
    await storeAgain(nats, pack, movePatience, (entries) => ledger.write(entries))
    moved(destination, partition)
  }

  /** Pulls nothing any more. */
  stop(): Promise<void> {
    return this.#source.reader.stop()
  }

  async close(): Promise<void> {
    await this.stop()
    this.#closing ??= this.#source.reader.close()
    await this.#closing
  }
}

const contentsOf = (message: PulledMessage) =>
  packContents(placeOfSubject(message.subject).destination, message)
