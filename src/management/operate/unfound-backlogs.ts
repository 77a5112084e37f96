/**
 * Backlogs that no pack holds: by the books, events of a destination wait, but none of its packs is open. A pack is entered
 * before the message that caused it, so books that are whole never say so. Packs that vanished are counted as dropped
 * (`operate/vanished-packs.ts`), which is not possible if the ledger lost the entries of their deliveries: then no one knows
 * what became of these events.
 *
 * Counts and open packs are read from the same books at the same time, and must be the same in each look for a while: books
 * that are read again after a fault are behind at first.
 */
import type { Books } from '../../delivery/books/books.js'
import type { DestinationCounts } from '../../delivery/books/destination-totals.js'
import { destinationIn } from '../../delivery/wire/pack-message.js'
import { every, type Timer } from '../../ground/core/clock.js'
import { LastingConditions } from '../../ground/core/lasting.js'

const lookEveryMs = 5_000

type ReadBooks = Pick<Books, 'destinations' | 'openPacks'>

export class UnfoundBacklogs {
  readonly #books: () => ReadBooks
  readonly #unfound: LastingConditions
  readonly #timer: Timer

  /** `clock` is monotonic. */
  constructor(books: () => ReadBooks, clock?: () => number) {
    this.#books = books
    this.#unfound = new LastingConditions(clock)
    this.#timer = every(lookEveryMs, () => this.look())
  }

  look(): void {
    const books = this.#books()
    const held = new Set([...books.openPacks.keys()].map(destinationIn))
    const unfound = [...books.destinations()].filter(([id, { backlog }]) => backlog > 0 && !held.has(id))
    this.#unfound.look(new Map(unfound.map(([id, counts]) => [id, textOf(counts)])))
  }

  /** Has no pack held these events for a while? `counts` are those of the books now. */
  has(destinationId: string, counts: DestinationCounts): boolean {
    return this.#unfound.hasLasted(destinationId, textOf(counts))
  }

  close(): void {
    this.#timer.stop()
  }
}

/** A destination that anything happens to has other counts. */
const textOf = ({ produced, delivered, dead_lettered, dropped, backlog }: DestinationCounts): string =>
  [produced, delivered, dead_lettered, dropped, backlog].join(' ')
