/**
 * The ledger: counts of messages and packs, in a stream of its own, written before these are acknowledged. A process
 * that dies in between leaves work to be repeated and entries to be written again; `books.ts` recognises repeated
 * entries: input messages by their sequences, packs by their ids.
 */
import { gzipSync } from 'node:zlib'
import { sleep } from '../../ground/core/clock.js'
import { GroupCommit } from '../../ground/core/group-commit.js'
import { newId } from '../../ground/core/ids.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { PulledMessage } from '../../ground/nats/pulled-message.js'
import type { Patience } from '../../ground/nats/retry.js'
import { type RecordType, recordTypes } from '../record/traffic-record.js'
import type { LastOutcomes } from '../wire/delivery-attempts.js'
import { ledgerSubject } from '../wire/names.js'
import type { PackSummary } from '../wire/pack.js'
import { packIdIn, packOrigin } from '../wire/pack-message.js'
import type { RecordsInput } from '../wire/partitions.js'
import type { SequenceRange } from '../wire/sequence-set.js'

/** Input that is events already: dead letters, sent again to their destinations. */
export const resentInput = 'dead_letters'

/** The stream that input came from; `replay.<id>`, and `replay.<id>.<partition>`: records that are processed again. */
export type InputStream = RecordsInput | 'audit' | 'audit_in' | typeof resentInput | `replay.${string}`

/**
 * Names sources that are asked together, so that the messages that ask them need not: there may be thousands. Written
 * before the entries that refer to it, and again from time to time, since the ledger can be lost.
 */
export interface SourcesEntry {
  readonly type: 'sources'
  /** A hash of `sources`. */
  readonly list: string
  readonly sources: readonly SourceName[]
}

/** One kind of one subscription at one destination: subscription, kind, destination. */
export type SourceName = readonly [string, string, string]

/** Counts of input messages; messages with equal counts share an entry. */
export interface InputEntry {
  readonly type: 'input'
  readonly stream: InputStream
  /** The run of the stream's sequences: they begin again when the stream is recreated. */
  readonly since: string
  readonly ranges: readonly SequenceRange[]
  /** When the last message of the ranges was stored; missing in entries from before this was entered. */
  readonly storedAtMs?: number
  /** The counts of each message. */
  readonly counts: InputCounts
}

export interface InputCounts extends Readonly<Record<RecordType, number>> {
  readonly records: number
  readonly bad: number
  /** Records of the past, which are not evaluated; missing in entries from before this count was introduced. */
  readonly history?: number
  readonly allow: number
  readonly block: number
  readonly deny: number
  /** Evaluated records that no edge serves; missing in entries from before this count was introduced. */
  readonly unserved?: number
  /** Those of them that belong to no account; missing like that. */
  readonly unowned?: number
  /** Audit events of other services, and how many of them are bad; missing if a message holds none. */
  readonly audits?: number
  readonly audits_bad?: number
  readonly sources: readonly SourceTally[]
  /**
   * How often the sources of each list were asked: each time, each of them produced an event or filtered it. If present,
   * `sources` has only sources that produced events, without filtered ones.
   */
  readonly asked?: readonly (readonly [list: string, times: number])[]
}

/** How many events it produced for each destination. */
export function eventsByDestination({ sources }: InputCounts): ReadonlyMap<string, number> {
  const events = new Map<string, number>()
  for (const [, , destination, produced] of sources)
    events.set(destination, (events.get(destination) ?? 0) + produced)
  return events
}

/** Counts of a source: its name, events produced, events filtered. */
export type SourceTally = readonly [...SourceName, number, number]

/** The contents of a pack, from its headers. */
export interface PackContents {
  readonly destination: string
  /** Its message id: equal for equal bytes of the same messages. */
  readonly pack: string
  readonly stream: InputStream
  readonly since: string
  /** Segments, formatted. */
  readonly segments: string
}

/** A pack was stored. Entries of earlier versions lack its contents and its sequence. */
export interface PackEntry extends PackContents, Partial<Omit<PackSummary, 'events'>> {
  readonly type: 'pack'
  /** The sequence of its message in the stream of deliveries. */
  readonly sequence?: number
  /** The partition of this stream; missing: 0. */
  readonly partition?: number
}

/** Delivery to a destination begins. */
interface DestinationEntry {
  readonly type: 'destination'
  readonly destination: string
  readonly target: string
}

/** Events of a pack that were dropped, because they had become older than the retention. */
export interface DroppedEvents {
  /** By kind: segments that say how many of each input message. */
  readonly kinds: readonly (readonly [kind: string, segments: string])[]
  /** The times of the oldest and the newest of them, and when they were dropped: milliseconds since the epoch. */
  readonly first: number
  readonly last: number
  readonly at: number
}

/**
 * A pack has left the stream, and each of its events was accepted, is a dead letter or was dropped. Repeats what other
 * entries say, since they may be lost with their writer or with the ledger.
 */
export interface DeliveredEntry extends PackContents {
  readonly type: 'delivered'
  readonly target: string
  /** How many of its events were dead-lettered, per input message that caused them. */
  readonly dead: readonly (readonly [sequence: number, events: number])[]
  /** Missing if none were dropped. */
  readonly dropped?: DroppedEvents
  readonly retried: number
  /** The outcomes of its lane until then. */
  readonly last: LastOutcomes
}

/** Packs left the stream of deliveries without being delivered, except those with an earlier entry of their delivery. */
export interface VanishedEntry {
  readonly type: 'vanished'
  readonly destination: string
  readonly packs: readonly string[]
  /** When it was noticed: milliseconds since the epoch. */
  readonly at: number
}

/** Events of a pack failed before it was given back: the process that gets it next sends them again. */
interface RetriedEntry {
  readonly type: 'retried'
  readonly destination: string
  readonly retried: number
}

/** A destination was deleted, and its backlog dropped. */
interface DroppedEntry {
  readonly type: 'dropped'
  readonly destination: string
}

/** No pipeline works on a replay any more. */
interface ReplayEndedEntry {
  readonly type: 'replay_ended'
  readonly stream: InputStream
}

export type LedgerEntry =
  | SourcesEntry
  | InputEntry
  | PackEntry
  | DestinationEntry
  | DeliveredEntry
  | RetriedEntry
  | DroppedEntry
  | VanishedEntry
  | ReplayEndedEntry

const messageBytesMax = 512 * 1024
const retryPauseMs = 1_000

const linesOf = (entries: readonly LedgerEntry[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')

/** The bytes of a message. One entry can be larger than messages may be, if thousands of sources produced events. */
const encode = (lines: string): string | Uint8Array =>
  lines.length > messageBytesMax ? gzipSync(lines) : lines

/** Writes entries at once, for a process that has few; gives up in time. */
export async function writeEntries(
  nats: Pick<Nats, 'publish'>,
  entries: readonly LedgerEntry[],
  patience: Patience,
): Promise<void> {
  await nats.publish(ledgerSubject, linesOf(entries), { msgId: newId('lg_'), ...patience })
}

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
  #sequence = 0
  #runs = 0

  /** `failed` reports writes that did not succeed and are retried. */
  constructor(nats: Nats, failed: (error: unknown) => void) {
    this.#nats = nats
    this.#failed = failed
  }

  /** Increases when sequences begin again: the ledger was lost, and with it the entries before. */
  get runs(): number {
    return this.#runs
  }

  /** Resolves when the entries are stored, in the order they were given in; rejects only when it is closed. */
  write(entries: readonly LedgerEntry[]): Promise<void> {
    return this.#commits.add(linesOf(entries))
  }

  async #store(lines: string): Promise<void> {
    const { signal } = this.#stop
    const msgId = newId('lg_')
    const data = encode(lines)
    for (;;) {
      try {
        const { sequence } = await this.#nats.publish(ledgerSubject, data, { msgId, signal })
        if (sequence <= this.#sequence) this.#runs += 1
        this.#sequence = sequence
        return
      } catch (error) {
        if (signal.aborted) throw error
        this.#failed(error)
        await sleep(retryPauseMs, signal)
      }
    }
  }

  /** Gives up entries that can't be stored at once. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#commits.written()
  }
}

/** The contents of a pack, from its message. */
export function packContents(destination: string, { headers, sequence }: PulledMessage): PackContents {
  const { stream, ...origin } = packOrigin(headers)
  const pack = packIdIn(headers) || `${destination} ${sequence}`
  return { destination, pack, stream: stream as InputStream, ...origin }
}

/** Totals of records, over all destinations. */
export type RecordTotals = Record<Exclude<keyof InputCounts, 'sources' | 'asked'>, number>

/** All zero: the initial totals, and the counts of a message without records. */
export const noRecords: Readonly<RecordTotals> = {
  records: 0,
  bad: 0,
  history: 0,
  ...(Object.fromEntries(recordTypes.map((type) => [type, 0])) as Record<RecordType, number>),
  allow: 0,
  block: 0,
  deny: 0,
  unserved: 0,
  unowned: 0,
  audits: 0,
  audits_bad: 0,
}
