/** Finds what was changed, newest first, in as few tables as possible. */
import { policyKind, ruleKind } from '../../../words/view/keys.js'
import type { View } from '../../../words/view/view.js'
import type { ReadRows } from './fact-reader.js'
import { type Header, type HistoryPosition, type HistoryQuery, headersSql } from './history-query.js'
import { comesAfter, familyOf, LastChanges, type Mark } from './last-changes.js'

/** A page rarely has changes of more kinds; if it does, a second statement finds them. */
const likelyFamiliesMax = 6

/** A family that can have changes on a page. */
interface PossibleFamily {
  readonly family: string
  /** All its changes come after this. */
  readonly bound: HistoryPosition
  /** Is nothing known of it, or had it a change on a page that was read? */
  readonly isLikely: boolean
}

/** The end of the list. */
const end: HistoryPosition = { version: 1, id: '' }

export class HeaderReader {
  readonly #rows: ReadRows
  readonly #lastChanges: LastChanges

  constructor(rows: ReadRows, view: Pick<View, 'state' | 'latest' | 'onChange'>) {
    this.#rows = rows
    this.#lastChanges = new LastChanges(view)
  }

  /** At most `limit` headers, newest first. */
  async newest(query: HistoryQuery): Promise<Header[]> {
    const { kinds, id, limit } = query
    const hasHalfFamily = kinds.includes(policyKind) !== kinds.includes(ruleKind)
    if (id !== undefined || hasHalfFamily) return this.#read(query)
    const mark = this.#lastChanges.mark(kinds.map(familyOf))
    const possible = this.#possibleFamilies(query)
    const likely = possible.filter(({ isLikely }) => isLikely)
    const isUnknown = ({ bound }: PossibleFamily) => bound.version === Number.POSITIVE_INFINITY
    const first = likely.filter((each, index) => index < likelyFamiliesMax || isUnknown(each))
    const found = await this.#readFamilies(query, first, mark)
    const last = found.length < limit ? end : found.at(-1)!
    const others = possible.filter((each) => !first.includes(each) && comesAfter(last, each.bound))
    const more = await this.#readFamilies(query, others, mark)
    return [...found, ...more].sort((one, other) => (comesAfter(one, other) ? 1 : -1)).slice(0, limit)
  }

  /** Those whose newest change can be the newest of all are the first. */
  #possibleFamilies({ accountId, kinds, before, sinceMs }: HistoryQuery): PossibleFamily[] {
    return [...new Set(kinds.map(familyOf))]
      .map((family) => {
        const bound = this.#lastChanges.boundOf(accountId, family, sinceMs)
        const isLikely = bound.id === ''
        return { family, bound: before && comesAfter(before, bound) ? before : bound, isLikely }
      })
      .filter(({ bound }) => comesAfter(end, bound))
      .sort(
        ({ bound: one }, { bound: other }) => Number(comesAfter(one, other)) - Number(comesAfter(other, one)),
      )
  }

  async #readFamilies(
    query: HistoryQuery,
    wanted: readonly { readonly family: string }[],
    mark: Mark,
  ): Promise<Header[]> {
    const families = new Set(wanted.map(({ family }) => family))
    if (families.size === 0) return []
    const kinds = query.kinds.filter((kind) => families.has(familyOf(kind)))
    const headers = await this.#read({ ...query, kinds })
    if (query.before === undefined && query.untilMs === undefined) this.#note(query, families, headers, mark)
    return headers
  }

  /** A family that is not among these headers can only have changes after the last one, if there are as many as wanted. */
  #note(
    { accountId, sinceMs, limit }: HistoryQuery,
    families: Iterable<string>,
    headers: readonly Header[],
    mark: Mark,
  ): void {
    const last = headers.length < limit ? end : headers.at(-1)!
    for (const family of families) {
      const newest = headers.find(({ kind }) => (kind === '' ? policyKind : familyOf(kind)) === family)
      const { version, id } = newest === undefined ? last : { version: newest.version + 1, id: '' }
      this.#lastChanges.note(accountId, family, { version, id }, sinceMs, mark)
    }
  }

  #read(query: HistoryQuery): Promise<Header[]> {
    const { accountId, before, id, sinceMs, untilMs, limit } = query
    const position = before && { before_version: before.version, before_id: before.id }
    const params = { account: accountId, id, ...position, since: sinceMs, until: untilMs, limit }
    // Parameters that a statement does not use must not be sent.
    const used = Object.entries(params).filter(([, value]) => value !== undefined)
    return this.#rows<Header>(headersSql(query), Object.fromEntries(used))
  }
}
