/**
 * What a bouncer enforces: the deny rules of its IP policies, and the entries of IP lists, both of those that its rules name and
 * of its own. A range is banned once, by whichever bans it longest.
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

/** A part, and how it counts for a bouncer. */
export interface BanSource extends Pick<Ban, 'origin'> {
  /** The policy, the rule with a list, or the list. */
  readonly id: string
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

  constructor(sources: readonly BanSource[]) {
    this.sources = sources
  }

  /** The ban of a range; undefined if there is none that is wanted. */
  find(cidr: string, atMs: number, isWanted: IsWanted): Ban | undefined {
    let found: Ban | undefined
    for (const source of this.sources) {
      const ban = banOf(source, cidr, atMs)
      if (ban !== undefined && (found === undefined || ban.endMs > found.endMs) && isWanted(ban)) found = ban
    }
    return found
  }

  /** Undefined is yielded for what is not wanted, has ended, or is banned longer by another source: so that callers can pause. */
  *all(atMs: number, isWanted: IsWanted): Generator<Ban | undefined> {
    for (const [index, source] of this.sources.entries()) {
      for (const cidr of source.part.banned.keys()) {
        const ban = banOf(source, cidr, atMs)
        const isCounted = ban !== undefined && isWanted(ban)
        yield isCounted && this.#isLongest(index, ban, atMs, isWanted) ? ban : undefined
      }
    }
  }

  /** Of equal ones, the first. */
  #isLongest(place: number, { cidr, endMs }: Ban, atMs: number, isWanted: IsWanted): boolean {
    for (let index = 0; index < this.sources.length; index += 1) {
      if (index === place) continue
      const other = banOf(this.sources[index]!, cidr, atMs)
      if (other === undefined || other.endMs < endMs || (other.endMs === endMs && index > place)) continue
      if (isWanted(other)) return false
    }
    return true
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
  one.id === other.id &&
  one.origin === other.origin &&
  one.reason === other.reason &&
  one.hasOwnReasons === other.hasOwnReasons &&
  one.endMs === other.endMs

export const isSameSource = (one: BanSource, other: BanSource): boolean =>
  one.part.key === other.part.key && countAlike(one, other)

export const isSameBan = (one: Ban, other: Ban): boolean =>
  one.origin === other.origin && one.reason === other.reason && one.endMs === other.endMs
