/**
 * Changes of an account as clients see them: a page of the history, newest first, optionally by filter.
 *
 * The head of a change is cheap to find, so filters look at heads only. The fields of the changes to be shown are read
 * afterwards, a few at a time, because a row can be large.
 */

import { isDeepStrictEqual } from 'node:util'
import { isoMillis } from '../../ground/core/clock.js'
import { Turns } from '../../ground/core/concurrency.js'
import { changesSearchedMax } from '../../ground/core/limits.js'
import type { Fields, Links } from '../../words/resource/kind/define.js'
import { resourceOf } from '../../words/resource/registry.js'
import {
  authorDescription,
  type Change,
  type ChangedField,
  type ChangeHead,
  changeHeadSchema,
} from '../../words/shape/decisions/change-schema.js'
import { compileSchemaFilter } from '../exchange/list-filter.js'
import type { History, HistoryDetail, HistoryEntry } from '../store/history/history.js'
import type { HistoryPosition, HistoryQuery } from '../store/history/history-query.js'

/** Changes that a filtered page looks at in one statement. */
const changesReadAtOnce = 1_000
/** A page of the history ends after this many bytes of JSON, or changed rules to count, whichever is first. */
const changesPageBytesMax = 2 * 1024 * 1024
const changedRulesPerPageMax = 200_000
/** Pages of the history read concurrently: each is several statements. */
const changeSearchesAtOnceMax = 2
const changeSearchesWaitingMax = 64

interface ChangesParts {
  readonly history: Pick<History, 'entries' | 'details'>
  readonly links: Links
}

interface ChangeSearch extends HistoryQuery {
  /** An expression over the heads of changes. */
  readonly filter?: string | undefined
}

interface ChangesPage {
  readonly changes: Change[]
  /** The position at which the next page starts; undefined if this is the last one. */
  readonly next: HistoryPosition | undefined
}

/** Limits concurrent searches of the whole process. */
const searches = new Turns(changeSearchesAtOnceMax, changeSearchesWaitingMax)

export function findChanges(parts: ChangesParts, search: ChangeSearch): Promise<ChangesPage> {
  const matches =
    search.filter === undefined ? undefined : compileSchemaFilter(changeHeadSchema, search.filter)
  return searches.take(async () => {
    const found = await findEntries(parts.history, search, matches)
    return readChanges(parts, search.accountId, withFewRules(found))
  })
}

/** The changes of these entries of one account, as many as fit a page. */
export const changesOf = (
  parts: ChangesParts,
  accountId: string,
  entries: readonly HistoryEntry[],
): Promise<ChangesPage> => readChanges(parts, accountId, withFewRules({ entries, next: undefined }))

interface FoundEntries {
  readonly entries: readonly HistoryEntry[]
  readonly next: HistoryPosition | undefined
}

/** The page can have fewer entries than its limit, even none, because a search ends after a number of changes. */
export async function findEntries(
  history: ChangesParts['history'],
  search: HistoryQuery,
  matches: ((head: ChangeHead) => boolean) | undefined,
): Promise<FoundEntries> {
  const limit = matches === undefined ? search.limit + 1 : changesReadAtOnce
  const entries: HistoryEntry[] = []
  let before = search.before
  for (let searched = 0; searched < changesSearchedMax; searched += limit) {
    const found = await history.entries({ ...search, before, limit })
    for (const entry of found) {
      if (matches?.(headOf(entry)) !== false) {
        if (entries.length === search.limit) return { entries, next: entries.at(-1)?.position }
        entries.push(entry)
      }
      before = entry.position
    }
    if (found.length < limit) return { entries, next: undefined }
  }
  return { entries, next: before }
}

/** Counting the changed rules of many policies takes long: the page ends before it has too many of them. */
function withFewRules({ entries, next }: FoundEntries): FoundEntries {
  let rules = 0
  const end = entries.findIndex((entry, index) => {
    rules += entry.rules
    return index > 0 && rules > changedRulesPerPageMax
  })
  return end === -1 ? { entries, next } : { entries: entries.slice(0, end), next: entries[end - 1]?.position }
}

/** Reads the fields of the changes until the page is large enough; it has at least one change. */
async function readChanges(
  { history, links }: ChangesParts,
  accountId: string,
  { entries, next }: FoundEntries,
): Promise<ChangesPage> {
  const changes: Change[] = []
  let bytes = 0
  for (let index = 0; index < entries.length; index += detailsReadAtOnce) {
    const slice = entries.slice(index, index + detailsReadAtOnce)
    const details = await history.details(accountId, slice)
    for (const [place, entry] of slice.entries()) {
      const change = changeOf(entry, details[place]!, links)
      bytes += Buffer.byteLength(JSON.stringify(change))
      if (bytes > changesPageBytesMax && changes.length > 0)
        return { changes, next: entries[index + place - 1]?.position }
      changes.push(change)
    }
  }
  return { changes, next }
}

/** A row has at most 256 KiB, and a change has two. */
const detailsReadAtOnce = 20

/** Sources of changes that were made without a key, by their authors. */
const otherSources: Readonly<Record<string, ChangeHead['source']>> = {
  nats: 'NATS',
  expiry: 'EXPIRY',
  feed: 'FEED',
}

function headOf(entry: HistoryEntry): ChangeHead {
  const { version, verb, kind, id, changedBy, keyDescription, clientAddress, operationId, testsSkipped } =
    entry
  const isKey = changedBy.startsWith('ak_')
  return {
    version,
    changed_at: isoMillis(entry.changedAt),
    verb,
    kind,
    id,
    source: isKey ? 'API' : (otherSources[changedBy] ?? 'CLI'),
    by: changedBy,
    by_description: authorDescription(changedBy, keyDescription),
    api_key_id: isKey ? changedBy : null,
    api_key_description: keyDescription,
    client_address: clientAddress,
    operation_id: operationId,
    tests_skipped: testsSkipped,
  }
}

const changeOf = (
  entry: HistoryEntry,
  { before, after, rules, promoted }: HistoryDetail,
  links: Links,
): Change => ({
  ...headOf(entry),
  fields: changedFields(resourceOf(entry.kind).fields, before, after, links),
  rules: rules ?? null,
  by_promotion_of: promoted ?? null,
})

type Values = Readonly<Record<string, unknown>>

/**
 * The fields that differ between two versions of a resource, as the API shows them. Secrets are named, but never shown.
 * A module that is set before and after is compared member by member. A version that does not exist has no values.
 */
function changedFields(
  fields: Fields,
  before: Values | undefined,
  after: Values | undefined,
  links: Links,
  prefix = '',
): ChangedField[] {
  return Object.entries(fields).flatMap(([name, { shown, sealed, fields: members }]) => {
    const [from, to] = [before?.[name] ?? null, after?.[name] ?? null]
    if (isDeepStrictEqual(from, to)) return []
    if (shown === 'hidden')
      return sealed ? [{ name: `${prefix}${name}`, before: null, after: null, secret: true }] : []
    if (members !== undefined && from !== null && to !== null)
      return changedFields(members, from as Values, to as Values, links, `${prefix}${name}.`)
    const show = (value: unknown) => (value === null ? null : shown.render(value, links))
    const change = { before: show(from), after: show(to) }
    // A one-time token is shown to no one, so its field has nothing to show.
    if (change.before === null && change.after === null) return []
    return [{ name: `${prefix}${shown.name ?? name}`, ...change, secret: false }]
  })
}
