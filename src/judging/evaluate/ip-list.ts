/**
 * IP lists, compiled. A list is two sets of addresses: its entries that expire are apart, so that an expiry costs nothing
 * for the others. The texts of a list's parts are read again for an explanation that shows the comment of an entry.
 */

import type { AddressLists } from '../../delivery/record/policy-context.js'
import { type Cidr, formatCidr, rangeAround } from '../../ground/core/address/cidr.js'
import { buildCidrSet, type CidrSet } from '../../ground/core/address/cidr-set.js'
import type { Address } from '../../ground/core/address/ip.js'
import { entryOf, type ListEntry, linesIn } from '../../ground/core/address/list-entry.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { Slices } from '../../ground/core/slices.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { ConfigurationSource } from './policy-source.js'

type ListRow = Pick<DeclaredRow<'ip_list'>, 'id' | 'account_id' | 'name' | 'category' | 'chunks'>

/** Reads the text of a part. */
type ReadPart = () => string

export interface IpList {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The category and those above it: `proxy.tor` is in `proxy`, too. */
  readonly categories: readonly string[]
  readonly content: ListContent
}

/** The entries that never expire. */
interface LastingEntries {
  readonly set: CidrSet
  readonly read: readonly ReadPart[]
  /** How many entries of each part never expire. */
  readonly counts: readonly number[]
}

/** The entries that expire, and have not yet. */
interface EndingEntries {
  readonly set: CidrSet
  /** Their stored lines, in one text: they are read again when the first of them expires. */
  readonly text: string
  readonly expiresMs: number
}

/** The entries of a list that count. */
export class ListContent {
  readonly #chunks: readonly string[]
  readonly #lasting: LastingEntries
  /** Undefined if no entry expires. */
  readonly #ending: EndingEntries | undefined

  constructor(chunks: readonly string[], lasting: LastingEntries, ending: EndingEntries | undefined) {
    this.#chunks = chunks
    this.#lasting = lasting
    this.#ending = ending
  }

  /** Its addresses: a set of entries that never expire, and perhaps one of others. */
  get sets(): readonly CidrSet[] {
    return this.#ending === undefined ? [this.#lasting.set] : [this.#lasting.set, this.#ending.set]
  }

  /** When the first entry expires; infinite if none does. */
  get expiresMs(): number {
    return this.#ending?.expiresMs ?? Number.POSITIVE_INFINITY
  }

  /** Was it built from these parts? */
  isOf(chunks: readonly string[]): boolean {
    return chunks.length === this.#chunks.length && chunks.every((id, index) => id === this.#chunks[index])
  }

  /** The same without entries that have expired, in slices; itself if none has. */
  *withoutExpired(nowMs: number): Generator<void, ListContent> {
    if (this.expiresMs > nowMs) return this
    const ending = yield* buildEnding(linesIn(this.#ending!.text), nowMs)
    return new ListContent(this.#chunks, this.#lasting, ending)
  }

  has(address: Address): boolean {
    return this.#lasting.set.has(address) || this.#ending?.set.has(address) === true
  }

  /** The narrowest range that contains all entries; undefined if there are none, or entries of both families. */
  get hull(): Cidr | undefined {
    const [first, ...others] = this.sets.filter(({ rangeCount }) => rangeCount > 0)
    return others.reduce((hull, set) => hull && set.hull && rangeAround(hull, set.hull), first?.hull)
  }

  /** Does an entry that never expires contain all of this range? */
  hasLasting(range: Cidr): boolean {
    const around = this.#lasting.set.rangeOf(range)
    return around !== undefined && around.prefix <= range.prefix
  }

  /** The widest range that contains the address, as text. */
  rangeOf(address: Address): string | undefined {
    const range = this.#widest(address)
    return range && formatCidr(range)
  }

  #widest(address: Address): Cidr | undefined {
    const lasting = this.#lasting.set.rangeOf(address)
    const ending = this.#ending?.set.rangeOf(address)
    if (lasting === undefined || ending === undefined) return lasting ?? ending
    return ending.prefix < lasting.prefix ? ending : lasting
  }

  /** The entry of that range, with its comment. Reads a part again, which takes a millisecond. */
  entryOf(address: Address): ListEntry | undefined {
    const range = this.#widest(address)
    if (range === undefined) return undefined
    return range.prefix === this.#lasting.set.rangeOf(address)?.prefix
      ? this.#lastingEntry(this.#lasting.set.placeOf(address)!)
      : nth(linesIn(this.#ending!.text), this.#ending!.set.placeOf(address)!)
  }

  #lastingEntry(placeInList: number): ListEntry | undefined {
    const { counts, read } = this.#lasting
    let place = placeInList
    for (const [index, count] of counts.entries()) {
      if (place < count) return nth(lastingLines(read[index]!()), place)
      place -= count
    }
    return undefined
  }
}

const tab = '\t'

/** The time at which an entry expires; null if it never does. Most entries have neither a time nor a comment. */
const expiryOf = (line: string): number | null => (line.includes(tab) ? entryOf(line).expiresAt : null)

function* lastingLines(text: string): Generator<string> {
  for (const line of linesIn(text)) if (expiryOf(line) === null) yield line
}

/** The entry of the line at this place, from 0. */
function nth(lines: Iterable<string>, place: number): ListEntry | undefined {
  let index = 0
  for (const line of lines) if (index++ === place) return entryOf(line)
  return undefined
}

/** Builds the content of a list in slices: call `next()` until it is done. */
export function* buildListContent(
  { chunks }: Pick<ListRow, 'chunks'>,
  read: readonly ReadPart[],
  nowMs: number,
): Generator<void, ListContent> {
  const counts: number[] = []
  const ending: string[] = []
  function* ranges(): Generator<string> {
    for (const part of read) {
      let count = 0
      for (const line of linesIn(part())) {
        if (expiryOf(line) !== null) {
          ending.push(line)
          continue
        }
        yield rangeIn(line)
        count += 1
      }
      counts.push(count)
    }
  }
  const set = yield* buildCidrSet(ranges())
  return new ListContent(chunks, { set, read, counts }, yield* buildEnding(ending, nowMs))
}

const rangeIn = (line: string): string => (line.includes(tab) ? entryOf(line).cidr : line)

/** The entries of these lines that have not expired, in slices; undefined if none is left. */
function* buildEnding(lines: Iterable<string>, nowMs: number): Generator<void, EndingEntries | undefined> {
  const left: string[] = []
  let expiresMs = Number.POSITIVE_INFINITY
  function* ranges(): Generator<string> {
    for (const line of lines) {
      const { cidr, expiresAt } = entryOf(line)
      if (expiresAt === null || expiresAt <= nowMs) continue
      expiresMs = Math.min(expiresMs, expiresAt)
      left.push(line)
      yield cidr
    }
  }
  const set = yield* buildCidrSet(ranges())
  return left.length === 0 ? undefined : { set, text: left.join('\n'), expiresMs }
}

/** The lists of all accounts. */
export class IpLists {
  readonly #byId: ReadonlyMap<string, IpList>
  readonly #byAccount = new Map<string, AccountLists>()
  /** When the first entry of all expires. */
  readonly expiresMs: number

  constructor(lists: readonly IpList[]) {
    this.#byId = new Map(lists.map((list) => [list.id, list]))
    let expiresMs = Number.POSITIVE_INFINITY
    for (const list of lists) {
      getOrMake(this.#byAccount, list.accountId, () => new AccountLists()).add(list)
      expiresMs = Math.min(expiresMs, list.content.expiresMs)
    }
    this.expiresMs = expiresMs
  }

  get(id: string): IpList | undefined {
    return this.#byId.get(id)
  }

  /** The same without entries that have expired; the other lists are shared. */
  async withoutExpired(slices: Slices, nowMs: number): Promise<IpLists> {
    if (this.expiresMs > nowMs) return this
    const lists: IpList[] = []
    for (const list of this.#byId.values())
      lists.push({ ...list, content: await slices.run(list.content.withoutExpired(nowMs)) })
    return new IpLists(lists)
  }

  /** Undefined if the account has none. */
  of(accountId: string | undefined): AddressLists | undefined {
    return this.#byId.size === 0 || accountId === undefined ? undefined : this.#byAccount.get(accountId)
  }
}

/** The lists of one account. */
class AccountLists implements AddressLists {
  readonly #byName = new Map<string, IpList>()

  add(list: IpList): void {
    this.#byName.set(list.name, list)
  }

  isIn(list: string, address: Address): boolean {
    return this.#byName.get(list)?.content.has(address) === true
  }

  categoriesOf(address: Address): string[] {
    const found = new Set<string>()
    for (const { categories, content } of this.#byName.values()) {
      if (categories.length === 0 || !content.has(address)) continue
      for (const category of categories) found.add(category)
    }
    return [...found]
  }
}

/** `proxy.tor`: `proxy`, `proxy.tor`. */
const categoriesIn = (category: string | null): string[] =>
  (category ?? '')
    .split('.')
    .filter((word) => word !== '')
    .map((_, index, words) => words.slice(0, index + 1).join('.'))

/** Lists that another view has compiled of the parts `chunks`; undefined, too, if an entry has expired. */
export interface CompiledLists {
  ipList(id: string, chunks: readonly string[], nowMs: number): ListContent | undefined
}

/** Builds the lists of a configuration; the content of lists that are as they were is taken over. */
export async function buildIpLists(
  source: Pick<ConfigurationSource, 'rowsOf' | 'listText'>,
  previous: IpLists | undefined,
  slices: Slices,
  nowMs: number,
  compiled?: CompiledLists,
): Promise<IpLists> {
  const lists: IpList[] = []
  // Rows and their parts are taken in one turn, so that no part is deleted in between.
  const given = [...source.rowsOf('ip_list')].map((row) => ({ row, read: partsOf(source, row) }))
  for (const { row, read } of given) {
    if (slices.isDue()) await slices.pause()
    const { id, account_id: accountId, name } = row
    const before = previous?.get(id)?.content ?? compiled?.ipList(id, row.chunks, nowMs)
    const content = await slices.run(contentOf(row, read, before, nowMs))
    lists.push({ id, accountId, name, categories: categoriesIn(row.category), content })
  }
  return new IpLists(lists)
}

/** `read` is undefined while a part is missing, as may be while an account is being repaired. */
function* contentOf(
  row: ListRow,
  read: readonly ReadPart[] | undefined,
  before: ListContent | undefined,
  nowMs: number,
): Generator<void, ListContent> {
  if (before !== undefined && (read === undefined || before.isOf(row.chunks)))
    return yield* before.withoutExpired(nowMs)
  // A list without its parts counts as empty, and is built again once they are there.
  return yield* buildListContent(read === undefined ? { chunks: [] } : row, read ?? [], nowMs)
}

/** How the texts of a list's parts are read; undefined if one is missing. */
function partsOf(source: Pick<ConfigurationSource, 'listText'>, { chunks }: ListRow): ReadPart[] | undefined {
  const read = chunks.map((id) => source.listText?.(id))
  return read.every((part) => part !== undefined) ? read : undefined
}
