/**
 * The addresses of several lists as one set: a policy with rules on ten lists looks an address up once, not ten times. A
 * union is built when a policy names the lists together, and again when one of them changes.
 */
import { buildUnion, type CidrSet } from '../../ground/core/address/cidr-set.js'
import type { Address } from '../../ground/core/address/ip.js'
import type { Slices } from '../../ground/core/slices.js'
import type { IpList, IpLists } from './ip-list.js'
import type { ListRule } from './policy-source.js'

/** Ranges of all unions of an account: some 20 bytes each. The lists of further policies are asked one by one. */
const unionRangesPerAccountMax = 5_000_000

/** One set of the entries that never expire, one of the others: an expiry builds only that again. */
export interface ListUnion {
  readonly sets: readonly MergedSets[]
}

interface MergedSets {
  readonly from: readonly CidrSet[]
  readonly union: CidrSet
}

export const unionHas = ({ sets }: ListUnion, address: Address): boolean => {
  for (let index = 0; index < sets.length; index += 1) if (sets[index]!.union.has(address)) return true
  return false
}

/** The unions of a configuration. */
export class ListUnions {
  /** By the ids of the lists: many policies may name the same ones. */
  readonly #byIds = new Map<string, ListUnion>()
  /** By the rules of a policy that name the lists, so that a decision makes no key. */
  readonly #byRules = new Map<readonly ListRule[], ListUnion>()
  readonly #rangesLeft = new Map<string, number>()

  /** Undefined if the lists of these rules have to be asked one by one. */
  of(rules: readonly ListRule[]): ListUnion | undefined {
    return this.#byRules.get(rules)
  }

  /** Adds the union of the lists of these rules, in slices; takes that of `previous` over if it is the same. */
  *add(rules: readonly ListRule[], lists: IpLists, previous: ListUnions | undefined): Generator<void, void> {
    const ids = [...new Set(rules.map(({ list_id }) => list_id))].sort()
    const key = ids.join()
    const known = this.#byIds.get(key)
    if (known !== undefined) {
      this.#byRules.set(rules, known)
      return
    }
    const found = ids.flatMap((id) => lists.get(id) ?? [])
    if (!this.#isRoomFor(found)) return
    const before = (previous === undefined ? undefined : previous.#byIds.get(key)?.sets) ?? []
    const sets: MergedSets[] = []
    for (const place of [0, 1]) {
      const from = found.flatMap(({ content }) => content.sets[place] ?? [])
      if (from.length > 0) sets.push(before.find(isOf(from)) ?? { from, union: yield* buildUnion(from) })
    }
    const union = { sets }
    this.#byIds.set(key, union)
    this.#byRules.set(rules, union)
  }

  #isRoomFor(lists: readonly IpList[]): boolean {
    const [first] = lists
    if (first === undefined) return false
    const left = this.#rangesLeft.get(first.accountId) ?? unionRangesPerAccountMax
    const wanted = lists
      .flatMap(({ content }) => content.sets)
      .reduce((sum, { rangeCount }) => sum + rangeCount, 0)
    if (wanted > left) return false
    this.#rangesLeft.set(first.accountId, left - wanted)
    return true
  }
}

const isOf =
  (sets: readonly CidrSet[]) =>
  ({ from }: MergedSets): boolean =>
    from.length === sets.length && from.every((set, index) => set === sets[index])

/** A policy, as far as it names lists. */
interface NamesLists {
  readonly allowLists: readonly ListRule[]
  readonly denyLists: readonly ListRule[]
  readonly shadow: NamesLists | undefined
}

/** Builds the unions that policies need, also their shadows. */
export async function buildListUnions(
  policies: Iterable<NamesLists>,
  lists: IpLists,
  previous: ListUnions | undefined,
  slices: Slices,
): Promise<ListUnions> {
  const unions = new ListUnions()
  for (const policy of policies) {
    if (slices.isDue()) await slices.pause()
    for (let each: NamesLists | undefined = policy; each !== undefined; each = each.shadow)
      for (const rules of [each.allowLists, each.denyLists])
        if (rules.length > 1) await slices.run(unions.add(rules, lists, previous))
  }
  return unions
}
