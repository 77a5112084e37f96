/**
 * Totals of each source. How often the sources of a list were asked is counted for the list, and is added to its
 * sources when totals are read: a list may have thousands of sources, and messages come more often than readers.
 */
import { getOrMake } from '../../ground/core/maps.js'
import type { SourceName } from './ledger.js'

export class SourceTotals {
  readonly subscription: string
  readonly kind: string
  readonly destination: string
  produced = 0
  /** How often it was asked for an event; less than it produced while a list that it is in is not named. */
  asked = 0

  constructor(subscription: string, kind: string, destination: string) {
    this.subscription = subscription
    this.kind = kind
    this.destination = destination
  }

  get filtered(): number {
    return Math.max(0, this.asked - this.produced)
  }
}

interface AskedList {
  /** Undefined until the list is named. */
  sources: readonly SourceTotals[] | undefined
  /** How often it was asked, without the times that are already added to its sources. */
  asked: number
}

interface StoredTotals extends Pick<SourceTotals, 'subscription' | 'kind' | 'destination'> {
  readonly produced: number
  /** Below zero while a list that the source is in is not named. */
  readonly filtered: number
}

export interface SourcesSnapshot {
  readonly sources: readonly StoredTotals[]
  /** Each list by the places of its sources in `sources`; null while it is not named. Missing in older snapshots. */
  readonly lists?: readonly (readonly [list: string, places: readonly number[] | null, asked: number])[]
}

/** Sources in lists that are remembered. Writers of the ledger name their lists again every minute. */
const listedMax = 1_000_000

export class SourceBooks {
  readonly #totals = new Map<string, SourceTotals>()
  /** The list that was asked last is the last one. */
  readonly #lists = new Map<string, AskedList>()
  readonly #listedMax: number
  #listed = 0

  constructor({ sources, lists = [] }: SourcesSnapshot = { sources: [] }, max = listedMax) {
    this.#listedMax = max
    const totals = sources.map(({ subscription, kind, destination, produced, filtered }) =>
      this.add([subscription, kind, destination], produced, produced + filtered),
    )
    for (const [list, places, asked] of lists) {
      this.#lists.set(list, { sources: places?.map((place) => totals[place]!), asked })
      this.#listed += places?.length ?? 0
    }
  }

  snapshot(): Required<SourcesSnapshot> {
    const sources = [...this.all()]
    const places = new Map(sources.map((source, place) => [source, place]))
    return {
      sources: sources.map(({ asked, ...source }) => ({ ...source, filtered: asked - source.produced })),
      lists: [...this.#lists].map(([list, { sources, asked }]) => [
        list,
        sources?.map((source) => places.get(source)!) ?? null,
        asked,
      ]),
    }
  }

  /** Says which sources a list has. */
  name(list: string, names: readonly SourceName[]): void {
    const known = this.#touch(list)
    if (known.sources !== undefined) return
    known.sources = names.map(([subscription, kind, destination]) =>
      this.#of(subscription, kind, destination),
    )
    this.#listed += names.length
    this.#forgetOld()
  }

  /** The sources of a list were asked so often. */
  ask(list: string, times: number): void {
    this.#touch(list).asked += times
  }

  /** Adds events that a source produced; `asked`: how often it was asked, if it is in no list. */
  add([subscription, kind, destination]: SourceName, produced: number, asked: number): SourceTotals {
    const totals = this.#of(subscription, kind, destination)
    totals.produced += produced
    totals.asked += asked
    return totals
  }

  /** Totals of all sources, without lists that are not named yet. */
  all(): Iterable<Readonly<SourceTotals>> {
    for (const list of this.#lists.values()) settle(list)
    return this.#totals.values()
  }

  #of(subscription: string, kind: string, destination: string): SourceTotals {
    const fresh = () => new SourceTotals(subscription, kind, destination)
    return getOrMake(this.#totals, keyOf(subscription, kind, destination), fresh)
  }

  #touch(list: string): AskedList {
    const known = this.#lists.get(list) ?? { sources: undefined, asked: 0 }
    this.#lists.delete(list)
    this.#lists.set(list, known)
    return known
  }

  /** If a list is forgotten too early, later counts of it are added when it is named again. */
  #forgetOld(): void {
    for (const [list, known] of this.#lists) {
      if (this.#listed <= this.#listedMax) return
      if (known.sources === undefined) continue
      settle(known)
      this.#listed -= known.sources.length
      this.#lists.delete(list)
    }
  }
}

/** Adds what its sources were asked to their totals. */
function settle(list: AskedList): void {
  if (list.sources === undefined || list.asked === 0) return
  for (const source of list.sources) source.asked += list.asked
  list.asked = 0
}

const keyOf = (subscription: string, kind: string, destination: string): string =>
  `${subscription} ${kind} ${destination}`
