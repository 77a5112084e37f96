/** The counts of a message as the ledger has them, and the names under which sources are counted. */
import {
  type InputCounts,
  noRecords,
  type SourceName,
  type SourcesEntry,
  type SourceTally,
} from '../../delivery/books/ledger.js'
import { hash128 } from '../../ground/core/ids.js'
import { getOrMake } from '../../ground/core/maps.js'
import type { CompiledSource } from '../produce/source-list.js'
import type { CountVector } from './counts.js'

/** Counts, and the lists of sources that they refer to. Shared by messages with equal counts, unless these are long. */
interface EnteredCounts {
  readonly counts: InputCounts
  readonly lists: readonly SourcesEntry[]
}

/** Different counts that are remembered: messages of a few records repeat theirs. */
const knownMax = 1_000
/** Longer ones, of many sources, hardly repeat, and would take hundreds of megabytes. */
const knownCharsMax = 2_048

export class LedgerCounts {
  readonly #kind: string | undefined
  readonly #names: SourceNames
  /** By their JSON. */
  readonly #known = new Map<string, EnteredCounts>()
  /** The counts of the last message: if the next one has the same, no JSON is made to find them. */
  #last: { readonly vector: CountVector; readonly entered: EnteredCounts } | undefined

  /** `kind`: only events count, and as events of this kind. Default: records count, and events as of their own kinds. */
  constructor(kind?: string) {
    this.#kind = kind
    this.#names = new SourceNames(kind)
  }

  of(vector: CountVector): EnteredCounts {
    if (this.#last?.vector !== vector) this.#last = { vector, entered: this.#entered(vector) }
    return this.#last.entered
  }

  #entered(vector: CountVector): EnteredCounts {
    const lists: SourcesEntry[] = []
    const asked: (readonly [string, number])[] = []
    for (const { sources, times } of vector.asked)
      for (const list of this.#names.of(sources)) {
        lists.push(list)
        asked.push([list.list, times])
      }
    const sources = this.#talliesOf(vector)
    if (this.#kind !== undefined) return this.#shared({ counts: { sources, asked, ...noRecords }, lists })
    const { records, bad, history, evaluated, decisions, unowned } = vector
    const unserved = vector.unserved.reduce((sum, { count }) => sum + count, 0)
    // Spreads come last: V8 adds members that follow one slowly, one by one (Node 20).
    const counts: InputCounts = {
      records,
      bad,
      history,
      unserved,
      unowned,
      sources,
      asked,
      ...evaluated,
      ...decisions,
    }
    return this.#shared({ counts, lists })
  }

  #talliesOf({ sources }: CountVector): readonly SourceTally[] {
    const kind = this.#kind
    if (kind === undefined) return sources
    return sources.map(([subscription, , destination, produced]) => [
      subscription,
      kind,
      destination,
      produced,
      0,
    ])
  }

  /** The same object for equal counts: tens of thousands of messages can wait for their entries. */
  #shared(entered: EnteredCounts): EnteredCounts {
    const key = JSON.stringify(entered.counts)
    if (key.length > knownCharsMax) return entered
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= knownMax) this.#known.clear()
    this.#known.set(key, entered)
    return entered
  }
}

/** At about 100 bytes each, a list is a tenth of a message of the ledger. */
const sourcesPerListMax = 500

/** The names under which the sources of an account are counted in the ledger, in lists of bounded length. */
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
