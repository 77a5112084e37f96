/**
 * IP lists, compiled. A list is a set of addresses; the texts of its parts are read again for an explanation that shows
 * the comment of an entry. Entries that have expired are left out when a list is built.
 */
import { formatCidr } from '../core/address/cidr.js'
import { buildCidrSet, type CidrSet } from '../core/address/cidr-set.js'
import type { Address } from '../core/address/ip.js'
import { entryOf, type ListEntry, linesIn } from '../core/address/list-entry.js'
import { getOrMake } from '../core/maps.js'
import type { Slices } from '../core/slices.js'
import type { DeclaredRow } from '../resource/registry.js'
import type { ConfigurationSource } from './policy-source.js'

type ListRow = Pick<DeclaredRow<'ip_list'>, 'id' | 'account_id' | 'name' | 'category' | 'chunks'>

/** Reads the text of a part. */
type ReadPart = () => string

interface IpList {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** The category and those above it: `proxy.tor` is in `proxy`, too. */
  readonly categories: readonly string[]
  readonly content: ListContent
}

/** The entries of a list that count. */
export class ListContent {
  readonly #chunks: readonly string[]
  readonly #read: readonly ReadPart[]
  /** Of each part, how many entries count. */
  readonly #counts: readonly number[]
  readonly #builtMs: number
  readonly set: CidrSet
  /** When the first entry expires; infinite if none does. */
  readonly expiresMs: number

  constructor(
    { chunks }: Pick<ListRow, 'chunks'>,
    read: readonly ReadPart[],
    built: Pick<ListContent, 'set' | 'expiresMs'> & { counts: readonly number[]; nowMs: number },
  ) {
    this.#chunks = chunks
    this.#read = read
    this.#counts = built.counts
    this.#builtMs = built.nowMs
    this.set = built.set
    this.expiresMs = built.expiresMs
  }

  /** Is it that of these parts, at this time? */
  isOf(chunks: readonly string[], nowMs: number): boolean {
    return (
      this.expiresMs > nowMs &&
      chunks.length === this.#chunks.length &&
      chunks.every((id, index) => id === this.#chunks[index])
    )
  }

  /** The widest range that contains the address, as text. */
  rangeOf(address: Address): string | undefined {
    const range = this.set.rangeOf(address)
    return range && formatCidr(range)
  }

  /** The entry of that range, with its comment. Reads a part again, which takes a millisecond. */
  entryOf(address: Address): ListEntry | undefined {
    let place = this.set.placeOf(address)
    if (place === undefined) return undefined
    for (const [index, count] of this.#counts.entries()) {
      if (place >= count) {
        place -= count
        continue
      }
      for (const line of linesIn(this.#read[index]!())) {
        const entry = entryOf(line)
        if (isOver(entry, this.#builtMs)) continue
        if (place === 0) return entry
        place -= 1
      }
    }
    return undefined
  }
}

const isOver = ({ expiresAt }: ListEntry, nowMs: number): boolean => expiresAt !== null && expiresAt <= nowMs

const tab = '\t'

/** Builds the content of a list in slices: call `next()` until it is done. */
export function* buildListContent(
  list: Pick<ListRow, 'chunks'>,
  read: readonly ReadPart[],
  nowMs: number,
): Generator<void, ListContent> {
  const counts: number[] = []
  let expiresMs = Number.POSITIVE_INFINITY
  function* ranges(): Generator<string> {
    for (const part of read) {
      let count = 0
      for (const line of linesIn(part())) {
        // Most entries have neither a time nor a comment.
        if (line.includes(tab)) {
          const entry = entryOf(line)
          if (isOver(entry, nowMs)) continue
          if (entry.expiresAt !== null) expiresMs = Math.min(expiresMs, entry.expiresAt)
          yield entry.cidr
        } else yield line
        count += 1
      }
      counts.push(count)
    }
  }
  const set = yield* buildCidrSet(ranges())
  return new ListContent(list, read, { set, expiresMs, counts, nowMs })
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

  of(accountId: string | undefined): AccountLists | undefined {
    return accountId === undefined ? undefined : this.#byAccount.get(accountId)
  }
}

/** The lists of one account, as expressions ask for them. */
class AccountLists {
  readonly #byName = new Map<string, IpList>()

  add(list: IpList): void {
    this.#byName.set(list.name, list)
  }

  /** The addresses of a list; undefined if there is no list of that name. */
  named(name: string): CidrSet | undefined {
    return this.#byName.get(name)?.content.set
  }

  /** The categories of the lists that contain the address, and those above them, each once. */
  categoriesOf(address: Address): string[] {
    const found = new Set<string>()
    for (const { categories, content } of this.#byName.values()) {
      if (categories.length === 0 || !content.set.has(address)) continue
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

/** Builds the lists of a configuration; the content of lists that are as they were is taken over. */
export async function buildIpLists(
  source: Pick<ConfigurationSource, 'rowsOf' | 'listText'>,
  previous: IpLists | undefined,
  slices: Slices,
  nowMs: number,
): Promise<IpLists> {
  const lists: IpList[] = []
  // Rows and their parts are taken in one turn, so that no part is deleted in between.
  const given = [...source.rowsOf('ip_list')].map((row) => ({ row, read: partsOf(source, row) }))
  for (const { row, read } of given) {
    if (slices.isDue()) await slices.pause()
    const { id, account_id: accountId, name } = row
    const before = previous?.get(id)?.content
    // A part may be missing while an account is being repaired.
    const isKept = before !== undefined && (read === undefined || before.isOf(row.chunks, nowMs))
    const content = isKept ? before : await slices.run(buildListContent(row, read ?? [], nowMs))
    lists.push({ id, accountId, name, categories: categoriesIn(row.category), content })
  }
  return new IpLists(lists)
}

/** How the texts of a list's parts are read; undefined if one is missing. */
function partsOf(source: Pick<ConfigurationSource, 'listText'>, { chunks }: ListRow): ReadPart[] | undefined {
  const read = chunks.map((id) => source.listText?.(id))
  return read.every((part) => part !== undefined) ? read : undefined
}
