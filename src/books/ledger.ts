/**
 * The ledger: what was counted, in a stream of its own, written before what was counted is acknowledged. A process
 * that dies in between does its work again and writes its entries again; whoever adds the ledger up (`books.ts`)
 * recognises them: input messages by their sequences, packs by their ids.
 */
import { sleep } from '../core/clock.js'
import { GroupCommit } from '../core/group-commit.js'
import { newId } from '../core/ids.js'
import type { Nats } from '../nats/nats.js'
import type { RecordType } from '../record/traffic-record.js'
import type { LastOutcomes } from '../wire/last-outcomes.js'
import { ledgerSubject } from '../wire/names.js'
import type { SequenceRange } from '../wire/sequence-set.js'

/** Which stream input came from. */
export type InputStream = 'records' | 'audit' | 'audit_in'

/** Counts of input messages; messages with the same numbers share an entry. */
export interface InputEntry {
  readonly type: 'input'
  readonly stream: InputStream
  /** Which run of the stream's sequences: they begin again when the stream is made anew. */
  readonly since: string
  readonly ranges: readonly SequenceRange[]
  /** Of each message. */
  readonly counts: InputCounts
}

export interface InputCounts extends Readonly<Record<RecordType, number>> {
  readonly records: number
  readonly bad: number
  readonly allow: number
  readonly block: number
  readonly deny: number
  /** Of the evaluated ones, those that no edge serves; left out by entries older than the count. */
  readonly unserved?: number
  /** Audit events of other services, and how many of them are bad; left out where a message holds none. */
  readonly audits?: number
  readonly audits_bad?: number
  readonly sources: readonly SourceTally[]
}

/** Of one kind of one subscription at one destination: subscription, kind, destination, produced, filtered. */
export type SourceTally = readonly [string, string, string, number, number]

/** What a pack holds, as its headers say it. */
export interface PackContents {
  readonly destination: string
  /** The message id under which it was stored: equal for equal bytes of the same messages. */
  readonly pack: string
  readonly stream: InputStream
  readonly since: string
  /** Segments, formatted. */
  readonly segments: string
}

/** A pack was stored. */
export interface PackEntry extends PackContents {
  readonly type: 'pack'
}

/** A destination begins to be delivered to. */
export interface DestinationEntry {
  readonly type: 'destination'
  readonly destination: string
  readonly target: string
}

/** A pack came to its end. It says again what other entries say, which may be lost: with their writer, or with the ledger. */
export interface DeliveredEntry extends PackContents {
  readonly type: 'delivered'
  readonly target: string
  /** Of its events, how many lie in the dead letters, per input message that caused them. */
  readonly dead: readonly (readonly [sequence: number, events: number])[]
  readonly retried: number
  /** How its lane fared until then. */
  readonly last: LastOutcomes
}

/** Events of a pack failed before it was given back: they will be sent again, by whoever gets it next. */
export interface RetriedEntry {
  readonly type: 'retried'
  readonly destination: string
  readonly retried: number
}

/** A destination was deleted, and what waited for it was dropped. */
export interface DroppedEntry {
  readonly type: 'dropped'
  readonly destination: string
}

export type LedgerEntry =
  | InputEntry
  | PackEntry
  | DestinationEntry
  | DeliveredEntry
  | RetriedEntry
  | DroppedEntry

const messageBytesMax = 512 * 1024
const retryPauseMs = 1_000

/** Writes entries with a group commit. */
export class LedgerWriter {
  readonly #nats: Nats
  readonly #failed: (error: unknown) => void
  readonly #stop = new AbortController()
  readonly #commits = new GroupCommit<string>({
    write: (group) => this.#store(group.join('')),
    sizeOf: (lines) => lines.length,
    sizeMax: messageBytesMax,
  })

  /** `failed` reports writes that did not succeed and are retried. */
  constructor(nats: Nats, failed: (error: unknown) => void) {
    this.#nats = nats
    this.#failed = failed
  }

  /** Resolves when the entries are stored, in the order they were given in; rejects only when it is closed. */
  write(entries: readonly LedgerEntry[]): Promise<void> {
    return this.#commits.add(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''))
  }

  async #store(lines: string): Promise<void> {
    const { signal } = this.#stop
    const msgId = newId('lg_')
    for (;;) {
      try {
        await this.#nats.publish(ledgerSubject, lines, { msgId, signal })
        return
      } catch (error) {
        if (signal.aborted) throw error
        this.#failed(error)
        await sleep(retryPauseMs, signal)
      }
    }
  }

  /** Gives up what can't be stored at once. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#commits.written()
  }
}
