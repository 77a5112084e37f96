/** How bans differ from those that someone has, or may have. Only parts that are others now are looked at. */
import { bansPerBouncerMax } from '../../../ground/core/limits.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { Slices } from '../../../ground/core/slices.js'
import { type BanPart, endingIn } from './ban-part.js'
import {
  type Ban,
  type BanSource,
  type Bans,
  countAlike,
  type IsWanted,
  isSameBan,
  isSameSource,
} from './bans.js'

/** Bans as they were, or are, at a time. */
export interface BansAt {
  readonly bans: Bans
  readonly atMs: number
}

interface BansDifference {
  /** Undefined is yielded so that callers can pause. */
  readonly added: Iterable<Ban | undefined>
  readonly deleted: readonly Ban[]
}

/** The difference from any of `before`. A ban with another end, reason or origin is added: it replaces the one before. */
export async function differenceOf(
  before: readonly BansAt[],
  after: BansAt,
  isWanted: IsWanted,
): Promise<BansDifference> {
  const { bans, atMs } = after
  const some = before.filter((each) => each.bans.sources.length > 0)
  const added: Ban[] = []
  const deleted: Ban[] = []
  const slices = new Slices()
  const changed = await changedIn(some, after, slices)
  const states = [bans, ...some.map((each) => each.bans)]
  for (const each of states) await slices.run(each.prepare(changed.size))
  for (const cidr of changed) {
    if (slices.isDue()) await slices.pause()
    const is = bans.find(cidr, atMs, isWanted)
    const was = some.map((each) => each.bans.find(cidr, each.atMs, isWanted))
    if (is === undefined) deleted.push(...was.filter((ban) => ban !== undefined).slice(0, 1))
    else if (!was.every((ban) => ban !== undefined && isSameBan(ban, is))) added.push(is)
  }
  const isNothingBefore = some.length < before.length
  return {
    added: isNothingBefore ? bans.all(atMs, isWanted) : added,
    deleted: await asDeleted(deleted, states, slices),
  }
}

/** Ranges whose ban may be another one. */
async function changedIn(
  before: readonly BansAt[],
  after: BansAt,
  slices: Slices,
): Promise<ReadonlySet<string>> {
  const changed = new Set<string>()
  const inOrder = before.toSorted((one, other) => one.atMs - other.atMs)
  // A ban that differs from an earlier one has changed at some step since; the first steps were looked at by the pull
  // before.
  for (const [step, each] of inOrder.entries()) {
    for (const cidr of changedBetween(each, inOrder[step + 1] ?? after)) {
      if (slices.isDue()) await slices.pause()
      if (cidr !== undefined) changed.add(cidr)
    }
  }
  return changed
}

function* changedBetween(before: BansAt, after: BansAt): Generator<string | undefined> {
  const [was, is] = [before.bans.sources, after.bans.sources]
  for (const source of [...was, ...is]) {
    if (source.endMs > before.atMs && source.endMs <= after.atMs) yield* source.part.banned.keys()
    yield* endingIn(source.part, before.atMs, after.atMs)
  }
  for (const source of was) {
    const other = is.find((each) => countAlike(source, each))
    if (other === undefined) yield* source.part.banned.keys()
    else if (!isSameSource(source, other)) yield* differing(source.part, other.part)
  }
  for (const source of is) if (!was.some((each) => countAlike(source, each))) yield* source.part.banned.keys()
}

/** Ranges by which parts of the same policy or list differ, if they are few: the next pull looks at the same parts again. */
const fewDiffering = new WeakMap<BanPart, WeakMap<BanPart, readonly string[]>>()
const fewMax = 1_000

/** The ranges that one of two parts has, and the other has not or in another way. */
function* differing(one: BanPart, other: BanPart): Generator<string | undefined> {
  const ofOne = getOrMake(fewDiffering, one, () => new WeakMap<BanPart, readonly string[]>())
  const known = ofOne.get(other)
  if (known !== undefined) return yield* known
  const few: string[] = []
  for (const [cidr, { reason, endMs }] of one.banned) {
    const banned = other.banned.get(cidr)
    const isSame = banned !== undefined && banned.reason === reason && banned.endMs === endMs
    if (!isSame && few.length <= fewMax) few.push(cidr)
    yield isSame ? undefined : cidr
  }
  for (const cidr of other.banned.keys()) {
    const isSame = one.banned.has(cidr)
    if (!isSame && few.length <= fewMax) few.push(cidr)
    yield isSame ? undefined : cidr
  }
  if (few.length <= fewMax) ofOne.set(other, few)
}

type BanSet = Pick<Ban, 'origin' | 'reason'>

/**
 * Firewalls keep a set of ranges for each origin, and for each list. A ban may have come by another one earlier, so it is
 * deleted from all of them; if those would be more deletions than a bouncer can have bans, only from those that have, or
 * had, its range. A ban that moves to another set can't be deleted from the former at once: many programs know it by its
 * range alone.
 */
async function asDeleted(deleted: readonly Ban[], states: readonly Bans[], slices: Slices): Promise<Ban[]> {
  const sets = setsOf(states.flatMap(({ sources }) => sources))
  const isFromAll = deleted.length * sets.size <= bansPerBouncerMax
  const all: Ban[] = []
  for (const ban of deleted) {
    if (slices.isDue()) await slices.pause()
    all.push(ban)
    const others = isFromAll ? sets : setsOf(states.flatMap((each) => each.sourcesOf(ban.cidr)))
    for (const [name, set] of others) if (name !== nameOf(ban)) all.push({ ...ban, ...set })
  }
  return all
}

const setsOf = (sources: readonly BanSource[]): ReadonlyMap<string, BanSet> =>
  new Map(sources.map(({ origin, reason }) => [nameOf({ origin, reason }), { origin, reason }]))

const nameOf = ({ origin, reason }: BanSet): string => (origin === 'weir' ? origin : `${origin}:${reason}`)
