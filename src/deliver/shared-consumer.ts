/**
 * The consumer of a partition that idle destinations share. It hands each pack to the run of its destination. One that can't
 * take it, because it fails, is paused or has enough to do, gets the pack from its own consumer: nothing waits behind it here.
 */
import { type LedgerWriter, packContents } from '../books/ledger.js'
import { storeAgain } from '../books/stored-packs.js'
import { messageOf } from '../core/errors.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { Consumer } from '../nats/consumers.js'
import { AcknowledgedContents, DurableReader } from '../nats/durable-reader.js'
import type { PulledMessage } from '../nats/messages.js'
import type { Nats } from '../nats/nats.js'
import { type Partition, placeOfSubject, sharedConsumer, sharedSubject } from '../wire/partitions.js'
import type { ByteBudget } from './byte-budget.js'
import { fetchPacks, type PackSource } from './pack-sources.js'

const ackPendingMax = 10_000
const acknowledgedMax = 10_000
const fetchMax = 8
/** A pack that can't be stored again, or whose destination is not known here, comes again after this time. */
const againAfterMs = 2_000
const movePatience = { patienceMs: 5_000 }

/**
 * What becomes of a pack: its destination `took` it, it must be `moved` to its own consumer, or `dropped`, because the destination
 * was deleted, or its destination is `unknown`.
 */
export type Offered = 'took' | 'moved' | 'dropped' | 'unknown'

export interface SharedConsumerOptions {
  readonly nats: Pick<Nats, 'openConsumer' | 'acknowledgements' | 'onReconnect' | 'publish'>
  readonly ledger: Pick<LedgerWriter, 'write'>
  readonly occurrences: Pick<Occurrences, 'deliveryFaulted' | 'stoppedEarly'>
  readonly budget: Pick<ByteBudget, 'reserve' | 'give'>
  readonly offer: (destination: string, source: PackSource, message: PulledMessage) => Offered
  /** A pack was moved: the destination needs its own consumer. */
  readonly moved: (destination: string, partition: Partition) => void
}

export class SharedConsumer {
  readonly #options: SharedConsumerOptions
  readonly #source: PackSource
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
    this.#source = { partition, reader, hasBacklog: false, takenMs: 0 }
    reader.open()
  }

  async #pull(consumer: Consumer, signal: AbortSignal): Promise<void> {
    const take = (message: PulledMessage) => this.#take(message)
    const options = { wanted: fetchMax, budget: this.#options.budget, take }
    while (!signal.aborted) await fetchPacks(this.#source, consumer, options, signal)
  }

  async #take(message: PulledMessage): Promise<void> {
    const { destination } = placeOfSubject(message.subject)
    const { occurrences, offer, moved } = this.#options
    const offered = offer(destination, this.#source, message)
    if (offered === 'took') return
    const { reader, partition } = this.#source
    const inFlight = reader.begin(message)
    if (inFlight === undefined) return
    if (offered === 'unknown') return reader.giveBack(inFlight, againAfterMs)
    if (offered === 'dropped') return reader.acknowledge(inFlight)
    try {
      await this.#move(message)
      reader.acknowledge(inFlight)
      moved(destination, partition)
    } catch (error) {
      occurrences.deliveryFaulted({ destination_id: destination, reason: messageOf(error) })
      reader.giveBack(inFlight, againAfterMs)
    }
  }

  async #move(message: PulledMessage): Promise<void> {
    const { nats, ledger } = this.#options
    const moved = { contents: contentsOf(message), partition: this.#source.partition, message }
    await storeAgain(nats, moved, movePatience, (entries) => ledger.write(entries))
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
