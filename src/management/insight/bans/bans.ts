/**
 * The bans of a bouncer: the deny rules of its IP policies, and the entries of IP lists, both of those that its rules name
 * and of its own. A range is banned once, by the source that bans it longest.
 */
import { type BanPart, endingIn } from './ban-part.js'

export interface Ban {
  readonly cidr: string
  /** `weir`: a rule bans it. `lists`: an IP list of the bouncer does. */
  readonly origin: 'weir' | 'lists'
  readonly reason: string
  /** Milliseconds since the epoch; infinite if it lasts. */
  readonly endMs: number
}

/** A part, and how it counts for a bouncer: each part at most once for each origin. */
export interface BanSource extends Pick<Ban, 'origin'> {
  readonly part: BanPart
  readonly reason: string
  /** Do rules or entries have reasons of their own, instead? */
  readonly hasOwnReasons: boolean
  /** All end by then. */
  readonly endMs: number
}

export type IsWanted = (ban: Ban) => boolean

export class Bans {
  readonly sources: readonly BanSource[]
  /** Ranges of all sources; one that several have counts for each. */
  readonly #ranges: number
  readonly #largest: number
  /** The places of the sources that have a range, except of the largest source: so that a single one needs no index. */
  #others: ReadonlyMap<string, number | readonly number[]> | undefined

  constructor(sources: readonly BanSource[]) {
    this.sources = sources
    const sizes = sources.map(({ part }) => part.banned.size)
    this.#ranges = sizes.reduce((sum, size) => sum + size, 0)
    this.#largest = sizes.indexOf(Math.max(...sizes))
  }

  /**
   * The ban of a range; undefined if there is none that is wanted. Of bans that end at the same time, that of the first
   * source.
   */
  find(cidr: string, atMs: number, isWanted: IsWanted): Ban | undefined {
    let found: Ban | undefined
    for (const source of this.#candidates(cidr)) {
      const ban = banOf(source, cidr, atMs)
      if (ban !== undefined && (found === undefined || ban.endMs > found.endMs) && isWanted(ban)) found = ban
    }
    return found
  }

  /** Those that have the range, whether its ban has ended or not. */
  sourcesOf(cidr: string): readonly BanSource[] {
    return this.#candidates(cidr).filter(({ part }) => part.banned.has(cidr))
  }

  /**
   * Prepares that many calls of `find`, if asking each source each time would take longer. Yields so that callers can pause.
   */
  *prepare(finds: number): Generator<undefined> {
    if (this.#others !== undefined || finds * (this.sources.length - 1) <= this.#ranges) return
    const others = new Map<string, number | number[]>()
    for (const [place, { part }] of this.sources.entries()) {
      if (place === this.#largest) continue
      for (const cidr of part.banned.keys()) {
        yield
        const places = others.get(cidr)
        if (places === undefined) others.set(cidr, place)
        else if (typeof places === 'number') others.set(cidr, [places, place])
        else places.push(place)
      }
    }
    this.#others = others
  }

  /** Undefined is yielded for what is not wanted or has ended, and now and then: so that callers can pause. */
  *all(atMs: number, isWanted: IsWanted): Generator<Ban | undefined> {
    const largest = this.sources[this.#largest]?.part.banned
    if (largest === undefined) return
    if (this.sources.length > 1) yield* this.prepare(Number.POSITIVE_INFINITY)
    for (const cidr of largest.keys()) yield this.find(cidr, atMs, isWanted)
    for (const cidr of this.#others?.keys() ?? [])
      yield largest.has(cidr) ? undefined : this.find(cidr, atMs, isWanted)
  }

  /** Sources that may have a range, in their order. */
  #candidates(cidr: string): readonly BanSource[] {
    const { sources } = this
    if (this.#others === undefined || sources.length === 1) return sources
    const found = this.#others.get(cidr)
    const places = found === undefined ? [] : typeof found === 'number' ? [found] : found
    const isInLargest = sources[this.#largest]!.part.banned.has(cidr)
    const all = isInLargest ? [...places, this.#largest].sort((one, other) => one - other) : places
    return all.map((place) => sources[place]!)
  }

  /** Does a ban end after one time, and not after another? */
  hasEnding(afterMs: number, untilMs: number): boolean {
    return this.sources.some(
      ({ part, endMs }) =>
        (endMs > afterMs && endMs <= untilMs) || endingIn(part, afterMs, untilMs).next().done !== true,
    )
  }

  /** Has it the same sources? */
  isSame({ sources }: Bans): boolean {
    return (
      sources.length === this.sources.length &&
      sources.every((source, index) => isSameSource(source, this.sources[index]!))
    )
  }
}

function banOf(source: BanSource, cidr: string, atMs: number): Ban | undefined {
  const banned = source.part.banned.get(cidr)
  if (banned === undefined) return undefined
  const endMs = Math.min(banned.endMs, source.endMs)
  if (endMs <= atMs) return undefined
  const reason = source.hasOwnReasons ? (banned.reason ?? source.reason) : source.reason
  return { cidr, origin: source.origin, reason, endMs }
}

/** Do they count in the same way, whatever their parts are? */
export const countAlike = (one: BanSource, other: BanSource): boolean =>
  one.part.id === other.part.id &&
  one.origin === other.origin &&
  one.reason === other.reason &&
  one.hasOwnReasons === other.hasOwnReasons &&
  one.endMs === other.endMs

export const isSameSource = (one: BanSource, other: BanSource): boolean =>
  one.part.key === other.part.key && countAlike(one, other)

export const isSameBan = (one: Ban, other: Ban): boolean =>
  one.origin === other.origin && one.reason === other.reason && one.endMs === other.endMs
