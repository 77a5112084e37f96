/**
 * The ledger: what was counted, in a stream of its own, written before what was counted is acknowledged. A process
 * that dies in between does its work again and writes its entries again; whoever adds the ledger up (`books.ts`)
 * recognises them by their sequences.
 */
import { newId } from '../core/ids.js'
import type { Nats } from '../core/nats.js'
import type { SequenceRange } from './sequence-set.js'

export const ledgerStream = 'WEIR_BOOKS'
export const ledgerSubject = 'weir.books'

/** Which stream input came from. */
export type InputStream = 'records' | 'audit'

/**
 * Events that one input message caused at one destination, for a run of messages with equal counts. A message whose
 * events fill more than a pack is cut into parts, always at the same places.
 */
export interface Segment {
  readonly range: SequenceRange
  /** Counted from 0. */
  readonly part: number
  /** Events per message. */
  readonly events: number
}

/** Counts of input messages; messages with the same numbers share an entry. */
export interface InputEntry {
  readonly type: 'input'
  readonly stream: InputStream
  /** When the stream was made: sequences begin again with a new one. */
  readonly since: string
  readonly ranges: readonly SequenceRange[]
  /** Of each message. */
  readonly counts: InputCounts
}

export interface InputCounts {
  readonly records: number
  readonly bad: number
  readonly tcp_connection: number
  readonly http_request: number
  readonly allow: number
  readonly block: number
  readonly deny: number
  readonly sources: readonly SourceTally[]
}

/** Of one kind of one subscription at one destination: subscription, kind, destination, produced, filtered. */
export type SourceTally = readonly [string, string, string, number, number]

/** A pack was stored. */
export interface PackEntry {
  readonly type: 'pack'
  readonly destination: string
  readonly sequence: number
  readonly stream: InputStream
  readonly since: string
  readonly segments: readonly Segment[]
}

/** A pack came to its end. */
export interface DeliveredEntry {
  readonly type: 'delivered'
  readonly destination: string
  readonly sequence: number
  readonly stream: InputStream
  readonly since: string
  /** As the pack's header says them, for a pack whose own entry was lost with its writer. */
  readonly segments: readonly Segment[]
  readonly delivered: number
  readonly dead_lettered: number
  readonly retried: number
}

/** A destination was deleted, and what waited for it was dropped. */
export interface DroppedEntry {
  readonly type: 'dropped'
  readonly destination: string
}

export type LedgerEntry = InputEntry | PackEntry | DeliveredEntry | DroppedEntry

/** Segments as a pack's header carries them: `10-14:2,17:1`, a later part as `17/1:200`. */
export const formatSegments = (segments: readonly Segment[]): string =>
  segments
    .map(({ range: [first, last], part, events }) => {
      const range = last === first ? `${first}` : `${first}-${last}`
      return `${range}${part === 0 ? '' : `/${part}`}:${events}`
    })
    .join(',')

export function parseSegments(text: string): Segment[] {
  if (text === '') return []
  return text.split(',').map((entry) => {
    const [where = '', events = '0'] = entry.split(':')
    const [range = '', part = '0'] = where.split('/')
    const [first = '0', last = first] = range.split('-')
    return { range: [Number(first), Number(last)], part: Number(part), events: Number(events) }
  })
}

/** Appends a message to segments; runs of equal messages become one. */
export function addToSegments(segments: Segment[], sequence: number, part: number, events: number): void {
  const last = segments.at(-1)
  const continues =
    last !== undefined && last.events === events && last.part === part && last.range[1] === sequence - 1
  if (continues) segments[segments.length - 1] = { ...last, range: [last.range[0], sequence] }
  else segments.push({ range: [sequence, sequence], part, events })
}

interface Waiting {
  readonly lines: string
  resolve(): void
  reject(error: unknown): void
}

const messageBytesMax = 512 * 1024

/** Writes entries, those that gather while a write is under way together. */
export class LedgerWriter {
  readonly #nats: Nats
  #waiting: Waiting[] = []
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false

  constructor(nats: Nats) {
    this.#nats = nats
  }

  /** Resolves when the entries are stored, in the order they were given in. */
  write(entries: readonly LedgerEntry[]): Promise<void> {
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    return new Promise((resolve, reject) => {
      this.#waiting.push({ lines, resolve, reject })
      if (!this.#isWriting) this.#writing = this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const group = this.#take()
      try {
        await this.#nats.publish(ledgerSubject, group.map(({ lines }) => lines).join(''), {
          msgId: newId('lg_'),
        })
        for (const { resolve } of group) resolve()
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#isWriting = false
  }

  #take(): Waiting[] {
    let bytes = 0
    let count = 0
    for (const { lines } of this.#waiting) {
      if (count > 0 && bytes + lines.length > messageBytesMax) break
      bytes += lines.length
      count += 1
    }
    return this.#waiting.splice(0, count)
  }

  async close(): Promise<void> {
    await this.#writing
  }
}
