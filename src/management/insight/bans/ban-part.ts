/**
 * The bans of one IP policy or one IP list. A part does not change once it is built: bouncers share it, and its key says
 * what it was built from. Rules and entries that end stay in it; those who read it leave out what has ended by then.
 */
import { entryOf, linesIn } from '../../../ground/core/address/list-entry.js'
import { getOrMake } from '../../../ground/core/maps.js'
import { Slices } from '../../../ground/core/slices.js'
import type { IpRule } from '../../../judging/evaluate/policy-source.js'
import { isBan } from '../../../words/resource/bouncers/ban-count.js'

/** A deny rule, or an entry of a list. */
export interface Banned {
  /** The description of the rule, or the comment of the entry. */
  readonly reason: string | null
  /** When it ends, in milliseconds since the epoch; infinite if it never does. */
  readonly endMs: number
}

interface Ending {
  readonly cidr: string
  readonly endMs: number
}

export interface BanPart {
  /** The policy or the list. */
  readonly id: string
  readonly key: string
  /** By range. */
  readonly banned: ReadonlyMap<string, Banned>
  /** Those that end, the first one first. */
  readonly ending: readonly Ending[]
  /** The lists that the deny rules of a policy name, by id. */
  readonly lists: ReadonlyMap<string, Banned>
  /** Deny rules of a policy that have a range, also those with the same one. */
  readonly ranges: number
}

/** Most entries of lists. */
const plain: Banned = { reason: null, endMs: Number.POSITIVE_INFINITY }

/** When a rule ends. */
const endOf = ({ expires_at }: Pick<IpRule, 'expires_at'>): number =>
  expires_at ? Date.parse(expires_at) : Number.POSITIVE_INFINITY

/** The part of a policy with these rules. */
export async function policyPart(id: string, key: string, rules: Iterable<IpRule>): Promise<BanPart> {
  const lists = new Map<string, Banned>()
  let denied = 0
  // Rules that follow each other often say the same.
  let last = plain
  function* ranges(): Generator<readonly [string, Banned] | undefined> {
    for (const rule of rules) {
      const { cidr, list_id, description } = rule
      const bans = isBan(rule)
      const [reason, endMs] = [description || null, endOf(rule)]
      if (last.reason !== reason || last.endMs !== endMs) last = { reason, endMs }
      if (bans && list_id) addLonger(lists, list_id, last)
      if (bans && cidr) denied += 1
      yield bans && cidr ? [cidr, last] : undefined
    }
  }
  return { id, key, ...(await built(ranges())), lists, ranges: denied }
}

/** The part of a list, from the texts that it is stored as. */
export async function listPart(id: string, key: string, texts: Iterable<string>): Promise<BanPart> {
  function* ranges(): Generator<readonly [string, Banned]> {
    for (const text of texts) {
      for (const line of linesIn(text)) {
        const { cidr, comment, expiresAt } = entryOf(line)
        const isPlain = comment === null && expiresAt === null
        yield [cidr, isPlain ? plain : { reason: comment, endMs: expiresAt ?? Number.POSITIVE_INFINITY }]
      }
    }
  }
  return { id, key, ...(await built(ranges())), lists: new Map(), ranges: 0 }
}

/** Adds what is banned, unless another bans the same at least as long. */
export function addLonger(banned: Map<string, Banned>, what: string, one: Banned): void {
  const other = banned.get(what)
  if (other === undefined || one.endMs > other.endMs) banned.set(what, one)
}

/** In slices. Of several with the same range, the one that lasts longest counts. */
async function built(
  ranges: Iterable<readonly [string, Banned] | undefined>,
): Promise<Pick<BanPart, 'banned' | 'ending'>> {
  const banned = new Map<string, Banned>()
  const slices = new Slices()
  for (const each of ranges) {
    if (slices.isDue()) await slices.pause()
    if (each === undefined) continue
    addLonger(banned, ...each)
  }
  const ending: Ending[] = []
  for (const [cidr, { endMs }] of banned) if (endMs !== Number.POSITIVE_INFINITY) ending.push({ cidr, endMs })
  return { banned, ending: ending.sort((one, other) => one.endMs - other.endMs) }
}

/** Bans that end after one time, and not after another. */
export function* endingIn({ ending }: BanPart, afterMs: number, untilMs: number): Generator<string> {
  let [low, high] = [0, ending.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ending[middle]!.endMs > afterMs) high = middle
    else low = middle + 1
  }
  for (let index = low; index < ending.length && ending[index]!.endMs <= untilMs; index += 1)
    yield ending[index]!.cidr
}

/** Parts that were used last, up to a number of bans in all of them. */
export class BanParts {
  readonly #bansMax: number
  /** The one that was used longest ago is first. */
  readonly #parts = new Map<string, BanPart>()
  readonly #building = new Map<string, Promise<BanPart>>()
  #bans = 0

  constructor(bansMax: number) {
    this.#bansMax = bansMax
  }

  get(key: string): BanPart | undefined {
    const part = this.#parts.get(key)
    if (part === undefined) return undefined
    this.#parts.delete(key)
    this.#parts.set(key, part)
    return part
  }

  /** The part with this key; those who ask for it at the same time wait for one build. */
  async getOrBuild(key: string, build: () => Promise<BanPart>): Promise<BanPart> {
    const building = () => build().finally(() => this.#building.delete(key))
    return this.get(key) ?? this.#kept(await getOrMake(this.#building, key, building))
  }

  #kept(part: BanPart): BanPart {
    if (this.#parts.has(part.key)) return part
    this.#parts.set(part.key, part)
    this.#bans += part.banned.size
    for (const [key, { banned }] of this.#parts) {
      if (this.#bans <= this.#bansMax || key === part.key) break
      this.#parts.delete(key)
      this.#bans -= banned.size
    }
    return part
  }
}
