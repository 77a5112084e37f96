/** A message of an input, from its pull to its acknowledgement. */
import type { InputCounts, SourcesEntry } from '../../delivery/books/ledger.js'
import type { DurableReader, MessageInFlight } from '../../ground/nats/durable-reader.js'
import type { DoneMessage, InputLedger } from './input-ledger.js'
import type { MessageTrace } from './message-trace.js'
import type { InputMessage } from './open-pack.js'

/** A message that failed, or came too early, is redelivered after this time. */
const messagePauseMs = 1_000

/** The result of processing a message, all of whose events are in packs. */
export interface ProcessedMessage {
  readonly counts: InputCounts
  /** The lists of sources that the counts refer to. */
  readonly lists?: readonly SourcesEntry[]
  /** Resolves when what it caused besides packs is stored; the next message does not wait for it. */
  readonly alsoStored?: Promise<void>
  /** Called when the message is acknowledged. */
  acknowledged?(): void
}

const noLists: readonly SourcesEntry[] = []

/** A class, because there may be tens of thousands of them. */
export class IntakeMessage implements InputMessage, DoneMessage {
  packsOpen = 0
  isRouted = false
  readonly storedAtMs: number
  readonly trace: MessageTrace | undefined
  readonly #inFlight: MessageInFlight
  readonly #reader: DurableReader
  readonly #ledger: InputLedger
  #result: ProcessedMessage | undefined
  #isEntered = false

  constructor(
    inFlight: MessageInFlight,
    storedAtMs: number,
    reader: DurableReader,
    ledger: InputLedger,
    trace: MessageTrace | undefined,
  ) {
    this.storedAtMs = storedAtMs
    this.trace = trace
    this.#inFlight = inFlight
    this.#reader = reader
    this.#ledger = ledger
  }

  get sequence(): number {
    return this.#inFlight.sequence
  }

  get since(): string {
    return this.#inFlight.since
  }

  get counts(): InputCounts {
    return this.#result!.counts
  }

  get lists(): readonly SourcesEntry[] {
    return this.#result?.lists ?? noLists
  }

  /** Everything it caused besides packs is stored. */
  finish(result: ProcessedMessage): void {
    this.#result = result
    this.stored()
  }

  /** Entered in the ledger once, when everything it caused is stored. */
  stored(): void {
    if (this.#result === undefined || this.#isEntered || !this.isRouted || this.packsOpen > 0) return
    this.#isEntered = true
    this.#ledger.add(this)
  }

  acknowledge(): void {
    this.#result?.acknowledged?.()
    this.#reader.acknowledge(this.#inFlight)
    this.trace?.end()
  }

  giveBack(): void {
    this.#reader.giveBack(this.#inFlight, messagePauseMs)
    this.trace?.end('given back')
  }
}
