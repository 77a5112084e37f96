/**
 * Start here: the pipeline of records. Messages of records in, packs of events out:
 *
 *     pull ▸ walk (parse, find edge, geo, evaluate, produce, route) ▸ packs stored ▸ ledger ▸ acknowledged
 *
 * The walk of a record is `process-record.ts`, the frame around a message `intake.ts`, dead letters `dead-records.ts`. A
 * message that was delivered several times without being acknowledged may have crashed the processes that had it: it
 * goes through quarantine first. This room never knows the store or the API: configuration comes from `view`.
 */
import type { LedgerWriter } from '../../delivery/books/ledger.js'
import type { SettledInput } from '../../delivery/books/reading.js'
import type { GeoLookup } from '../../delivery/record/geo.js'
import { encodingOf, recordBytes } from '../../delivery/record/record-encoding.js'
import { historyOf, publishedRecordsSubject, revisionHeader } from '../../delivery/wire/names.js'
import { type Partition, type PartitionSet, publishedSubject } from '../../delivery/wire/partitions.js'
import { yieldTurn } from '../../ground/core/clock.js'
import type { Soon } from '../../ground/core/concurrency.js'
import { messageOf, type Result } from '../../ground/core/errors.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { Configuration } from '../produce/compiled-configuration.js'
import type { BusyDestinations } from './busy-destinations.js'
import type { CatchUps } from './catch-ups.js'
import type { CountVector } from './counts.js'
import { DeadRecords } from './dead-records.js'
import type { DecisionLog } from './decision-log.js'
import type { FailureLog } from './failure-log.js'
import { FailureReports, UnservedReports } from './failure-reports.js'
import { Intake } from './intake.js'
import type { ProcessedMessage } from './intake-message.js'
import { LedgerCounts } from './ledger-counts.js'
import type { InputMessage } from './open-pack.js'
import type { PreferredPartitions } from './preferred-partitions.js'
import {
  type BadRecord,
  type MessageResult,
  processMessage,
  refusedMessage,
  walkMessage,
} from './process-record.js'
import { type Quarantine, withoutLines } from './quarantine.js'
import type { Shares } from './shares.js'

/** A message delivered this often without being acknowledged is tried record by record in the quarantine process. */
const deliveriesBeforeQuarantine = 3

/**
 * How often a message is given back, for a second each time, because it was published with a configuration that is not here
 * yet. A change is here within two seconds. If the bucket was made anew, its revisions begin at one, and waiting is no use.
 */
const waitsForRevisionMax = 2

/** More than a machine processes in half a second if each message holds one record. */
const ackPendingMax = 50_000
/** A message of so few bytes, some forty records, is walked without pauses. */
const atOnceBytesMax = 4 * 1024

const noCulprits: readonly BadRecord[] = []

type MessageWalking = ReturnType<typeof walkMessage>

interface PipelineDeps {
  readonly nats: Nats
  /** Whose records it takes. */
  readonly partition: Partition
  readonly partitions: PartitionSet
  readonly preferred: Pick<PreferredPartitions, 'mayTake' | 'count'>
  readonly busy: Pick<BusyDestinations, 'hasNext'>
  readonly configuration: Configuration
  readonly geo: GeoLookup
  readonly ledger: LedgerWriter
  readonly settled: SettledInput
  readonly occurrences: Occurrences
  readonly quarantine: Quarantine
  readonly decisionLog: DecisionLog
  readonly failureLog: FailureLog
  readonly shares: Shares
  readonly catchUps: CatchUps
}

export class Pipeline {
  readonly #deps: PipelineDeps
  readonly #intake: Intake
  readonly #deadRecords: DeadRecords
  readonly #failures: FailureReports
  readonly #unserved: UnservedReports
  readonly #ledgerCounts = new LedgerCounts()

  constructor(deps: PipelineDeps) {
    this.#deps = deps
    const { nats, partition, partitions, preferred, busy, ledger, settled, occurrences, shares } = deps
    const { recordsStream, recordsInput } = partition
    this.#intake = new Intake({
      nats,
      partitions,
      busy,
      ledger,
      settled,
      stream: recordsStream,
      input: recordsInput,
      inputs: () => preferred.count,
      mayPull: () => preferred.mayTake(partition),
      ackPendingMax,
      isTraced: true,
      process: (message, input) => this.#process(message, input),
      packBegun: (destination, bytes) => shares.packBegun(destination, bytes),
      unavailable: (error) => occurrences.recordsUnavailable({ reason: messageOf(error) }),
      unstored: (error, sequence) => occurrences.recordsUnstored({ sequence, reason: messageOf(error) }),
      stoppedEarly: (messages) => occurrences.stoppedEarly({ input: recordsInput, messages }),
    })
    this.#deadRecords = new DeadRecords({
      nats,
      occurrences,
      stream: recordsStream,
      gaveUp: this.#intake.gaveUp,
    })
    this.#failures = new FailureReports(occurrences, 'record')
    this.#unserved = new UnservedReports(occurrences)
  }

  open(): void {
    this.#intake.open()
  }

  /** Records wait to be processed. */
  get isBusy(): boolean {
    return this.#intake.isBusy
  }

  /** Most messages wait for nothing: promises, and functions to go on with, would take longer than a record's way. */
  #process(message: PulledMessage, input: InputMessage): Soon<ProcessedMessage | undefined> {
    if (this.#isAhead(message)) return undefined
    const decoded = recordBytes(message)
    return decoded instanceof Promise
      ? decoded.then((bytes) => this.#processChecked(bytes, message, input))
      : this.#processChecked(decoded, message, input)
  }

  #processChecked(
    decoded: Result<Uint8Array>,
    message: PulledMessage,
    input: InputMessage,
  ): Soon<ProcessedMessage> {
    const check = this.#deps.catchUps.shareCheck(this.#deps.partition, input.sequence)
    return check === undefined
      ? this.#processDecoded(decoded, message, input)
      : check.then(() => this.#processDecoded(decoded, message, input))
  }

  #processDecoded(
    decoded: Result<Uint8Array>,
    message: PulledMessage,
    input: InputMessage,
  ): Soon<ProcessedMessage> {
    if (!decoded.ok)
      return this.#resultOf(this.#refused(message, decoded.problem.msg, input), noCulprits, message, input)
    const culprits = this.#culpritsIn(decoded.value, message)
    return culprits instanceof Promise
      ? culprits.then((found) => this.#processBytes(decoded.value, found, message, input))
      : this.#processBytes(decoded.value, culprits, message, input)
  }

  #processBytes(
    bytes: Uint8Array,
    culprits: readonly BadRecord[],
    message: PulledMessage,
    input: InputMessage,
  ): Soon<ProcessedMessage> {
    input.trace?.evaluating()
    const walked = this.#walk(bytes, message, culprits, input)
    return walked instanceof Promise
      ? walked.then((result) => this.#resultOf(result, culprits, message, input))
      : this.#resultOf(walked, culprits, message, input)
  }

  /** A message that can't be decoded, or has too many lines, counts as one bad record, which has its bytes. */
  #refused({ data }: PulledMessage, reason: string, input: InputMessage): MessageResult {
    const { packs } = this.#intake
    packs.begin(input)
    packs.end()
    return refusedMessage(data, reason)
  }

  /**
   * Was the message published over the API with a newer configuration than this process has? Then it waits for it, so that
   * records are judged with the edges and policies that were made just before. It is given back instead of held here:
   * changes of one account must not delay the records of others.
   */
  #isAhead(message: PulledMessage): boolean {
    const { headers, deliveries } = message
    const revision = headers?.get(revisionHeader)
    if (!revision || deliveries > waitsForRevisionMax) return false
    if (publishedSubject(message.subject) !== publishedRecordsSubject) return false
    return !this.#deps.configuration.covers(Number(revision))
  }

  /** The records of the message that crash a process. */
  #culpritsIn(bytes: Uint8Array, { deliveries }: PulledMessage): Soon<readonly BadRecord[]> {
    return deliveries > deliveriesBeforeQuarantine ? this.#deps.quarantine.culpritsIn(bytes) : noCulprits
  }

  #resultOf(
    { counts, bad }: MessageResult,
    culprits: readonly BadRecord[],
    message: PulledMessage,
    input: InputMessage,
  ): Soon<ProcessedMessage> {
    input.trace?.evaluated(counts)
    const result = this.#counted(withBad(counts, culprits.length), message.storedAtMs)
    if (bad.length + culprits.length === 0) return result
    const dead =
      culprits.length === 0 ? bad : [...bad, ...culprits].sort((one, other) => one.line - other.line)
    const sent = { encoding: encodingOf(message), history: historyOf(message.headers) }
    const parked = { ...result, alsoStored: this.#deadRecords.store(dead, input, sent) }
    return this.#deadRecords.isFull ? this.#deadRecords.room().then(() => parked) : parked
  }

  #counted(counts: CountVector, storedAtMs: number): ProcessedMessage {
    const entered = this.#ledgerCounts.of(counts)
    if (!isReported(counts)) return entered
    return {
      ...entered,
      acknowledged: () => {
        this.#failures.add(counts)
        this.#deps.failureLog.add(counts, storedAtMs)
        this.#unserved.add(counts)
      },
    }
  }

  #walk(
    all: Uint8Array,
    { storedAtMs, headers }: PulledMessage,
    culprits: readonly BadRecord[],
    input: InputMessage,
  ): Soon<MessageResult> {
    const history = historyOf(headers)
    const bytes = withoutLines(all, culprits)
    const { partition, configuration, geo, decisionLog, catchUps } = this.#deps
    const { packs } = this.#intake
    const { sequence } = input
    const view = catchUps.viewFor(partition, configuration.current, input)
    const judged = (judgement: Judgement, line: number) =>
      decisionLog.add(
        judgement,
        { storedAtMs, partition: partition.number, sequence, line, isHistory: history !== undefined },
        view.challengers,
      )
    const stored = { bytes, storedAtMs }
    const context = { view, geo, buffers: packs, judged, history }
    packs.begin(input)
    if (bytes.length > atOnceBytesMax) return this.#walkInTurns(walkMessage(stored, context), input)
    try {
      return processMessage(stored, context)
    } finally {
      packs.end()
    }
  }

  async #walkInTurns(walk: MessageWalking, input: InputMessage): Promise<MessageResult> {
    const { packs, longWalks } = this.#intake
    let isPaused = false
    try {
      for (let step = walk.next(); ; step = walk.next()) {
        if (step.done) return step.value
        if (step.value) {
          packs.pause()
          isPaused = true
          await this.#intake.pause()
          packs.begin(input)
          isPaused = false
        } else await yieldTurn()
        if (packs.isFull) await packs.roomToFill()
      }
    } finally {
      if (!isPaused) packs.end()
      longWalks.end()
    }
  }

  async close(): Promise<void> {
    await this.#intake.close()
    this.#failures.close()
    this.#unserved.close()
  }
}

/** Does it hold more than counts? Few messages do: the others need not keep it until they are acknowledged. */
const isReported = ({ policyFailures, filterFailures, warnings, unserved }: CountVector): boolean =>
  policyFailures.length + filterFailures.length + warnings.length + unserved.length > 0

const withBad = (counts: CountVector, more: number): CountVector =>
  more === 0 ? counts : { ...counts, records: counts.records + more, bad: counts.bad + more }
