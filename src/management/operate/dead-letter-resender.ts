/**
 * Sends dead letters again, or drops them. An event goes to its destination in a new pack, with the bytes that it had; a
 * record or an audit event is published again, to go through the pipeline. A letter is removed once that is stored.
 *
 * Each step can be repeated: message ids, and the sequence of a letter in the books, make a letter that is sent twice
 * count once. If a process dies in between, the letter is still there.
 */
import { resentInput, writeEntries } from '../../delivery/books/ledger.js'
import { storePack } from '../../delivery/books/stored-packs.js'
import { eventHead } from '../../delivery/wire/event-template.js'
import {
  auditInSubjectHead,
  encodingHeader,
  historyHeader,
  resentRecordsSubject,
} from '../../delivery/wire/names.js'
import { PackWriter } from '../../delivery/wire/pack.js'
import { Segments } from '../../delivery/wire/pack-message.js'
import type { PartitionSet } from '../../delivery/wire/partitions.js'
import { eachOf } from '../../ground/core/concurrency.js'
import { hashBytes128 } from '../../ground/core/ids.js'
import { packBytesTarget } from '../../ground/core/limits.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Nats } from '../../ground/nats/nats.js'
import { type Letter, type RemovedLettersNats, removeLetters } from './letters-of-message.js'

/** A letter that can't be sent again, and why. */
export interface Refusal {
  readonly letter: Letter
  readonly reason: string
}

export interface ResenderOptions {
  readonly nats: Pick<Nats, 'publish'> & RemovedLettersNats
  readonly partitions: Pick<PartitionSet, 'homeOf'>
  /** Is it a destination that exists? */
  readonly isDestination: (id: string) => boolean
}

const patience = { patienceMs: 5_000 }
const publishedAtOnce = 32

/** An event of a letter, as a pack has it. */
interface ReadEvent {
  readonly partitionKey: string
  readonly timestampMs: number
  readonly json: string
}

export class DeadLetterResender {
  readonly #options: ResenderOptions

  constructor(options: ResenderOptions) {
    this.#options = options
  }

  /** Sends what can be sent again, and removes it; resolves with the others. */
  async resend(letters: readonly Letter[]): Promise<Refusal[]> {
    const refusals: Refusal[] = []
    const accepted = letters.filter((letter) => {
      const reason = this.#whyNot(letter)
      if (reason !== undefined) refusals.push({ letter, reason })
      return reason === undefined
    })
    const events = new Map<string, Letter[]>()
    for (const letter of accepted)
      if (letter.type === 'event')
        getOrMake(events, letter.origin.destinationId ?? '', (): Letter[] => []).push(letter)
    for (const [destination, ofIt] of events) await this.#resendEvents(destination, ofIt)
    const inputs = accepted.filter(({ type }) => type !== 'event')
    await eachOf(inputs, publishedAtOnce, (letter) => this.#publish(letter, letter.data))
    await this.drop(inputs)
    return refusals
  }

  /** Publishes an edited record instead of the letter's, and removes the letter. */
  async resendEdited(letter: Letter, record: Uint8Array): Promise<void> {
    await this.#publish({ ...letter, origin: { ...letter.origin, encoding: null } }, record)
    await this.drop([letter])
  }

  drop(letters: readonly Letter[]): Promise<void> {
    return removeLetters(this.#options.nats, letters)
  }

  #whyNot({ type, origin, data }: Letter): string | undefined {
    if (origin.originalSize !== null) return 'Only a part of it is stored.'
    if (type === 'audit' && !auditSubjectForm.test(origin.subject ?? ''))
      return 'The subject on which it was published is unknown.'
    if (type !== 'event') return undefined
    if (!this.#options.isDestination(origin.destinationId ?? '')) return 'Its destination was deleted.'
    return readEvent(data) === undefined ? 'Its bytes are not those of an event.' : undefined
  }

  async #publish({ id, type, origin }: Letter, data: Uint8Array): Promise<void> {
    const subject = type === 'record' ? resentRecordsSubject : origin.subject!
    const msgId = hashBytes128(data, id)
    const headers = {
      ...(origin.encoding !== null && { [encodingHeader]: origin.encoding }),
      ...(origin.history !== null && { [historyHeader]: origin.history }),
    }
    await this.#options.nats.publish(subject, data, { msgId, headers, ...patience })
  }

  // --- events ---

  /** In packs of the usual size, the oldest first. */
  async #resendEvents(destination: string, letters: readonly Letter[]): Promise<void> {
    const writer = new PackWriter()
    let segments = new Segments()
    let packed: Letter[] = []
    const oldestFirst = letters.toSorted((one, other) => one.sequence - other.sequence)
    for (const [index, letter] of oldestFirst.entries()) {
      const { partitionKey, timestampMs, json } = readEvent(letter.data)!
      writer.append(partitionKey, timestampMs, json)
      segments.add(letter.sequence, 0, 1)
      packed.push(letter)
      const next = oldestFirst[index + 1]
      if (next !== undefined && writer.byteLength + next.data.length <= packBytesTarget) continue
      await this.#store(destination, letter.since, writer, segments.format())
      await this.drop(packed)
      segments = new Segments()
      packed = []
    }
  }

  async #store(destination: string, since: string, writer: PackWriter, segments: string): Promise<void> {
    const { nats, partitions } = this.#options
    const origin = { stream: resentInput, since, segments } as const
    const summary = writer.summary()
    const partition = partitions.homeOf(destination)
    const pack = { destination, partition, isShared: false, bytes: writer.take(), origin, summary }
    await storePack(nats, pack, patience, (entries) => writeEntries(nats, entries, patience))
  }
}

const auditSubjectForm = new RegExp(`^${auditInSubjectHead.replaceAll('.', '\\.')}\\w+\\.\\w+$`)

/** The event, with the time and the partition key that it had; undefined if the bytes are none. */
function readEvent(data: Uint8Array): ReadEvent | undefined {
  const json = Buffer.from(data).toString().trimEnd()
  const event = parsed(json)
  if (event === undefined || !json.startsWith(eventHead) || json.includes('\n')) return undefined
  const { event_id, event_timestamp, principal, object } = event
  // Events of a resource stay in order: only audit events have a principal.
  const partitionKey = String((principal === undefined ? undefined : object?.id) ?? event_id)
  const timestampMs = Date.parse(String(event_timestamp))
  if (partitionKey === '' || /\s/.test(partitionKey) || Number.isNaN(timestampMs)) return undefined
  return { partitionKey, timestampMs, json }
}

interface ParsedEvent {
  readonly event_id?: unknown
  readonly event_timestamp?: unknown
  readonly principal?: unknown
  readonly object?: { readonly id?: unknown } | null
}

function parsed(json: string): ParsedEvent | undefined {
  try {
    return JSON.parse(json) as ParsedEvent
  } catch {
    return undefined
  }
}
