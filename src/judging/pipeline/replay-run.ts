/**
 * This process's part of a replay, which processes recorded traffic again for one destination: an intake over the stream of
 * records with a consumer of its own, which all pipelines share.
 *
 *     pull from the first record ▸ walk for one destination ▸ packs ▸ ledger (`replay.<id>`)
 *
 * Events have the ids that they had before, because an id depends on the record and the subscription only. Records
 * are evaluated with the configuration in force. Live records come first: while they wait, or take much of the time, a
 * run takes a thirtieth of it. It pulls nothing while the destination holds more than a quarter of its share.
 */

import { type LedgerWriter, noRecords } from '../../delivery/books/ledger.js'
import type { GeoLookup } from '../../delivery/record/geo.js'
import { recordBytes } from '../../delivery/record/record-encoding.js'
import { historyOf, replayConsumer } from '../../delivery/wire/names.js'
import type { Partition, PartitionSet } from '../../delivery/wire/partitions.js'
import { monotonicMs, sleep, yieldTurn } from '../../ground/core/clock.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { AnyTrafficEvent } from '../../words/event/define.js'
import type { Configuration, TrafficView } from '../produce/compiled-configuration.js'
import { replayedView } from '../produce/replayed-sources.js'
import type { BusyDestinations } from './busy-destinations.js'
import type { CountVector } from './counts.js'
import { Intake } from './intake.js'
import type { ProcessedMessage } from './intake-message.js'
import { LedgerCounts } from './ledger-counts.js'
import type { InputMessage } from './open-pack.js'
import { walkMessage } from './process-record.js'
import type { Shares } from './shares.js'

/** Messages in flight, in all pipelines together. */
const ackPendingMax = 1_000
/** Pulled ahead: processed before the server delivers them again, although the run gives way. */
const aheadBytes = 1024 * 1024
/** The part of the time that a run takes while the pipeline is busy: less than the twentieth that live records may lose. */
const timeShare = 1 / 30
const lookAgainMs = 50
/** After the end of a replay, until every pipeline has heard of it. */
const consumerKeptMs = 15_000

export interface ReplayRunDeps {
  readonly nats: Nats
  readonly partitions: PartitionSet
  readonly busy: Pick<BusyDestinations, 'hasNext'>
  readonly configuration: Configuration
  readonly eventKinds: readonly AnyTrafficEvent[]
  readonly geo: GeoLookup
  readonly ledger: LedgerWriter
  readonly occurrences: Occurrences
  readonly shares: Shares
  /** Do live records wait, or take a good part of the time? */
  readonly isBusy: () => boolean
}

interface ReplayedRecords {
  /** It names the consumer, and the input in the books. */
  readonly id: string
  /** Whose records they are. */
  readonly partition: Partition
  readonly accountId: string
  readonly destinationId: string
  /** An expression over fields of events; null: all events. */
  readonly filter: string | null
  /** Kinds of events; null: all. */
  readonly types: readonly string[] | null
  /** Its events only; undefined: those of all subscriptions. */
  readonly subscriptionId?: string | undefined
  /** The sequence of the first message. */
  readonly first: number
  /** Is the message one of them? Undefined while that is not decided: the message is given back. */
  readonly has: (sequence: number) => boolean | undefined
}

export class ReplayRun {
  readonly #records: ReplayedRecords
  readonly #deps: ReplayRunDeps
  readonly #intake: Intake
  readonly #stop = new AbortController()
  /** Records were counted when they came. In the books, replayed events are a kind of their own. */
  readonly #ledgerCounts = new LedgerCounts('replayed')
  /** Time that the run still leaves to live records: pauses for small messages are made together. */
  #owedMs = 0
  #view: { readonly of: TrafficView; readonly restricted: TrafficView } | undefined

  constructor(records: ReplayedRecords, deps: ReplayRunDeps) {
    this.#records = records
    this.#deps = deps
    const { nats, partitions, busy, ledger, occurrences, shares } = deps
    const { id, partition, destinationId, first } = records
    const interrupted = (error: unknown): void =>
      occurrences.replayInterrupted({ replay: id, reason: messageOf(error) })
    this.#intake = new Intake({
      nats,
      partitions,
      busy,
      ledger,
      stream: partition.recordsStream,
      consumer: { name: replayConsumer(id), firstSequence: first },
      input: replayInput(records),
      ackPendingMax,
      aheadBytes,
      process: (message, input) => this.#process(message, input),
      mayPull: () => shares.hasRoom(destinationId),
      packBegun: (destination, bytes) => shares.packBegun(destination, bytes),
      unavailable: interrupted,
      unstored: interrupted,
      stoppedEarly: (messages) => occurrences.stoppedEarly({ input: id, messages }),
    })
    this.#intake.open()
  }

  async #process(message: PulledMessage, input: InputMessage): Promise<ProcessedMessage | undefined> {
    const isOne = this.#records.has(message.sequence)
    if (isOne === undefined) return undefined
    const begunMs = monotonicMs()
    const counts = await this.#walk(message, input, isOne)
    await this.#giveWay((monotonicMs() - begunMs) * (1 / timeShare - 1))
    return counts === undefined ? { counts: nothing } : this.#ledgerCounts.of(counts)
  }

  async #walk(message: PulledMessage, input: InputMessage, isOne: boolean): Promise<CountVector | undefined> {
    const { packs } = this.#intake
    const decoded = isOne ? await recordBytes(message) : undefined
    packs.begin(input)
    try {
      if (decoded?.ok !== true) return undefined
      const history = historyOf(message.headers)
      const context = { view: this.#viewNow(), geo: this.#deps.geo, buffers: packs, history }
      const walk = walkMessage({ bytes: decoded.value, storedAtMs: message.storedAtMs }, context)
      for (let step = walk.next(); ; step = walk.next()) {
        // A record that is bad, or has no result, was reported when it came.
        if (step.done) return step.value.counts
        await yieldTurn()
        if (packs.isFull) await packs.roomToFill()
      }
    } finally {
      packs.end()
    }
  }

  #viewNow(): TrafficView {
    const { configuration, eventKinds } = this.#deps
    const { current } = configuration
    if (this.#view?.of !== current)
      this.#view = { of: current, restricted: replayedView(current, this.#records, eventKinds) }
    return this.#view.restricted
  }

  /** Waits so long while the pipeline is busy with live records. */
  async #giveWay(ms: number): Promise<void> {
    const { signal } = this.#stop
    this.#owedMs += ms
    while (this.#owedMs >= lookAgainMs && this.#deps.isBusy() && !signal.aborted) {
      await sleep(lookAgainMs, signal)
      this.#owedMs -= lookAgainMs
    }
    if (!this.#deps.isBusy()) this.#owedMs = 0
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#intake.close()
  }
}

type Replayed = Pick<ReplayedRecords, 'id' | 'partition'>

/** Its name in the books. */
const replayInput = ({ id, partition: { number } }: Replayed): `replay.${string}` =>
  number === 0 ? `replay.${id}` : `replay.${id}.${number}`

/**
 * Ends the part of this process, `run` if it had one. The consumer goes last: a pipeline that has not heard of the end
 * would make it again, from its beginning.
 */
export async function endReplay(
  replayed: Replayed,
  run: { close(): Promise<void> } | undefined,
  { nats, ledger, occurrences }: Pick<ReplayRunDeps, 'nats' | 'ledger' | 'occurrences'>,
  signal: AbortSignal,
): Promise<void> {
  const { id, partition } = replayed
  try {
    await run?.close()
    if (run !== undefined) await ledger.write([{ type: 'replay_ended', stream: replayInput(replayed) }])
    await sleep(consumerKeptMs, signal)
    if (!signal.aborted) await nats.deleteConsumer(partition.recordsStream, replayConsumer(id))
  } catch (error) {
    if (!signal.aborted) occurrences.replayInterrupted({ replay: id, reason: messageOf(error) })
  }
}

/** Counts of a message that is not replayed. */
const nothing = { ...noRecords, sources: [] }
