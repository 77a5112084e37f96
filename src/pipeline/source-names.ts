/** The names under which the sources of an account are counted in the ledger, in lists of bounded length. */
import type { SourceName, SourcesEntry } from '../books/ledger.js'
import { hash128 } from '../core/ids.js'
import { getOrMake } from '../core/maps.js'
import type { CompiledSource } from '../produce/source-list.js'

/** At about 100 bytes each, a list is a tenth of a message of the ledger. */
const sourcesPerListMax = 500

export class SourceNames {
  readonly #kind: string | undefined
  readonly #lists = new WeakMap<readonly CompiledSource[], readonly SourcesEntry[]>()

  /** `kind`: the kind under which all their events count. Default: each event's own. */
  constructor(kind?: string) {
    this.#kind = kind
  }

  /** The lists that together have these sources. */
  of(sources: readonly CompiledSource[]): readonly SourcesEntry[] {
    return getOrMake(this.#lists, sources, () => this.#listsOf(sources))
  }

  #listsOf(sources: readonly CompiledSource[]): SourcesEntry[] {
    const names = sources.flatMap(({ subscriptionId, kindName, destinationIds }) =>
      destinationIds.map((id): SourceName => [subscriptionId, this.#kind ?? kindName, id]),
    )
    const lists: SourcesEntry[] = []
    for (let first = 0; first < names.length; first += sourcesPerListMax) {
      const part = names.slice(first, first + sourcesPerListMax)
      lists.push({ type: 'sources', list: hash128(JSON.stringify(part)), sources: part })
    }
    return lists
  }
}
