/**
 * One fetch of a list: what its source has becomes its entries, by the same write as `PUT …/entries`, or the last good ones
 * stay and the state says why.
 */

import { type Hide, hiding } from '../../../delivery/outgoing/hidden-secrets.js'
import type { ReachableNetworks } from '../../../delivery/outgoing/private-networks.js'
import { type Covered, CoveredCounts, everyAddress } from '../../../ground/core/address/covered.js'
import { entryOf, linesIn } from '../../../ground/core/address/list-entry.js'
import type { ListFormat } from '../../../ground/core/address/list-formats.js'
import { monotonicMs } from '../../../ground/core/clock.js'
import { Turns } from '../../../ground/core/concurrency.js'
import { unavailable, WeirError } from '../../../ground/core/errors.js'
import { hash128, hashBytes128 } from '../../../ground/core/ids.js'
import { version } from '../../../ground/core/package.js'
import type { Sealer } from '../../../ground/core/seal.js'
import { Slices } from '../../../ground/core/slices.js'
import {
  growGuardDefault,
  hasSecrets,
  headersBelongTo,
  headersOf,
  type PreviewedSource,
  sourceIdentity,
} from '../../../words/resource/fields/ip-list-source.js'
import type { IpListPreview } from '../../../words/shape/ip-lists/ip-list-preview.js'
import { type ListRow, listKind, readerOfChunk } from '../../../words/view/list-chunks.js'
import type { View } from '../../../words/view/view.js'
import type { ViewState } from '../../../words/view/view-state.js'
import type { Caller } from '../../access/caller.js'
import type { Principal } from '../../store/change/change.js'
import type { Store } from '../../store/store.js'
import { type IpListEntries, SourceGone } from '../../write/ip-list-entries.js'
import { type PackedList, packedList } from '../../write/list-packing.js'
import { FeedFault, feedFaultOf } from './feed-fault.js'
import { previewOf } from './feed-preview.js'
import type { FeedState } from './feed-states.js'
import type { FedList } from './feed-status.js'
import { fetchUrl } from './fetch-url.js'
import { type Fetched, noValidators, type Validators } from './fetched.js'
import { readListFile } from './read-file.js'
import { isWebPage, webPageMessage } from './web-page.js'

/** For the requests of one fetch together. */
const fetchTimeoutMs = 60_000
/** Lists that are parsed and written at the same time: a large one takes hundreds of megabytes and much of a core. */
const parsedAtOnceMax = 1
const parsedWaitingMax = 100
/** After the first failure; each further one doubles it, up to the period of the list. */
const retryMs = 60_000
const doublingsMax = 16

export interface TurnParts {
  readonly store: Pick<Store, 'sealedValue'> & { readonly view: Pick<View, 'state'> }
  readonly sealer: Pick<Sealer, 'unseal' | 'isDigestOf'>
  readonly listEntries: Pick<IpListEntries, 'replace'>
  readonly networks: ReachableNetworks
  /** In which files may be; undefined if none may. */
  readonly directory: string | undefined
}

/** `gone`: the list was deleted or has another source meanwhile, so that the fetch says nothing. */
export type TurnOutcome = 'changed' | 'unchanged' | 'failed' | 'gone'

export interface Turn {
  readonly outcome: TurnOutcome
  /** After the fetch, and without a claim. */
  readonly state: FeedState
  /** How long reading and writing the entries took. */
  readonly workMs: number
  /** The error of the fetch, if it failed. */
  readonly error?: unknown
}

/** The place of a list, and the account that fetches it. */
type FetchedFrom = Pick<FedList, 'account_id'> & { readonly source: Pick<FedList['source'], 'url' | 'file'> }

const byFeed: Principal = { source: 'FEED', credentialId: null }

const partsOf = ({ chunks }: ListRow): string => hash128(...chunks)

export class FeedTurns {
  readonly #parts: TurnParts
  readonly #parsing = new Turns(parsedAtOnceMax, parsedWaitingMax)

  constructor(parts: TurnParts) {
    this.#parts = parts
  }

  /** Rejects only with the signal's reason. `state`: of this source; `nowMs`: from when its next fetch is counted. */
  async run(list: FedList, state: FeedState, nowMs: number, signal: AbortSignal): Promise<Turn> {
    let hide: Hide = (text) => text
    let workMs = 0
    let refused: string | null = null
    const ended = (turn: Omit<Turn, 'workMs'>): Turn => ({ ...turn, workMs })
    try {
      const { headers, secrets } = headersOf(list.source, await this.#secretOf(list))
      hide = hiding(secrets)
      // If others set the entries, or the list was restored, they are not those that the server knows the validators of.
      const isKnown = state.parts === partsOf(list)
      const known = isKnown ? { etag: state.etag, lastModified: state.last_modified } : noValidators
      const fetched = await this.#fetch(list, known, headers, signal)
      if (fetched === undefined) return ended({ outcome: 'unchanged', state: succeeded(list, state, nowMs) })
      const good = succeeded(list, { ...state, ...learnedFrom(list, fetched) }, nowMs)
      if (isKnown && good.content === state.content) return ended({ outcome: 'unchanged', state: good })
      // Another version of Weir may read it.
      const body = hash128(good.content ?? '', version)
      if (body === state.refused && state.error !== null) {
        refused = body
        throw new FeedFault(state.error.code, asBefore(state.error.message))
      }
      const write = async () => {
        const beganMs = monotonicMs()
        try {
          return await this.#write(list, fetched.bytes, signal)
        } catch (error) {
          if (error instanceof UnreadableList) refused = body
          throw error
        } finally {
          workMs = monotonicMs() - beganMs
        }
      }
      const parts = partsOf(await this.#parsing.take(write))
      return parts === partsOf(list)
        ? ended({ outcome: 'unchanged', state: { ...good, parts } })
        : ended({ outcome: 'changed', state: { ...good, parts, changed_ms: nowMs } })
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) return ended({ outcome: 'gone', state: { ...state, claimed_ms: null } })
      const after = failed(list, { ...state, refused }, feedFaultOf(error), hide, nowMs)
      return ended({ outcome: 'failed', state: after, error })
    }
  }

  /** The text of its secret headers. */
  async #secretOf(list: FedList): Promise<string | undefined> {
    if (!hasSecrets(list.source)) return undefined
    const { store, sealer } = this.#parts
    const belongsTo = headersBelongTo(list)
    const sealed = await store.sealedValue(listKind, list.id, 'sealed_secret')
    const secret = sealed && sealer.unseal(sealed, belongsTo)
    // The secret of a later version of the list may be for another server.
    if (!secret || !sealer.isDigestOf(list.secret_digest, secret, belongsTo))
      throw unavailable('The secret headers of the source are being brought up to date.')
    return secret
  }

  /** The list that a source has, which is not stored. Rejects only with the signal's reason. */
  preview(account_id: string, source: PreviewedSource, signal: AbortSignal): Promise<IpListPreview> {
    const headers = { ...source.headers, ...source.secret_headers } as Record<string, string>
    const place = { url: source.url ?? null, file: source.file ?? null }
    const fetch = async (): Promise<Buffer> =>
      (await this.#fetch({ source: place, account_id }, noValidators, headers, signal))?.bytes ??
      Buffer.alloc(0)
    return previewOf(source, { fetch, parsing: this.#parsing }, signal)
  }

  #fetch(
    { source, account_id }: FetchedFrom,
    known: Validators,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const { networks, directory } = this.#parts
    return source.url === null
      ? readListFile({ directory, accountId: account_id, name: source.file ?? '' }, known)
      : fetchUrl(source.url, known, { headers, networks, timeoutMs: fetchTimeoutMs, signal })
  }

  async #write(list: FedList, bytes: Buffer, signal: AbortSignal): Promise<ListRow> {
    const { source, id, account_id: accountId } = list
    const slices = new Slices({ signal })
    const packed = await readList(bytes, source.format, slices)
    checkShrinking(list, packed.entries)
    checkGrowth(list, await coveredBy(this.#parts.store.view.state, list, slices), packed.covered)
    const caller: Caller = { accountId, principal: byFeed, address: undefined }
    const feedOf = sourceIdentity(source)
    const written = await this.#parts.listEntries.replace({
      caller,
      principal: byFeed,
      listId: id,
      packed,
      feedOf,
      signal,
    })
    return written.row as ListRow
  }
}

/** The same text is refused whenever it is read. */
class UnreadableList extends FeedFault {}

async function readList(bytes: Buffer, format: ListFormat, slices: Slices): Promise<PackedList> {
  if (isWebPage(bytes)) throw new UnreadableList('invalid', webPageMessage)
  try {
    return await packedList(bytes, format, slices, { isFed: true })
  } catch (error) {
    const { code, message } = feedFaultOf(error)
    throw code === 'invalid' || code === 'too_large' ? new UnreadableList(code, message) : error
  }
}

const unread = ' The source still has the same, which was not read again.'
const asBefore = (message: string): string => (message.endsWith(unread) ? message : message + unread)

/** The part of the state that describes these entries, should they be taken. */
const learnedFrom = (
  { source }: FedList,
  { bytes, validators }: NonNullable<Fetched>,
): Pick<FeedState, 'etag' | 'last_modified' | 'content'> => ({
  etag: validators.etag,
  last_modified: validators.lastModified,
  content: hashBytes128(bytes, source.format),
})

const isGone = (error: unknown): boolean =>
  error instanceof SourceGone || (error instanceof WeirError && error.code === 'ERR_NOT_FOUND')

function checkShrinking({ entries: before, source: { shrink_guard } }: FedList, after: number): void {
  if (shrink_guard === 0) return
  if (after === 0)
    throw new FeedFault(
      'shrunk',
      'The list has no entries any more. If that is right, set "shrink_guard" to 0.',
    )
  if (after < before * shrink_guard)
    throw new FeedFault(
      'shrunk',
      `The list has ${after} entries instead of ${before}, which is less than the share that "shrink_guard" asks for (${shrink_guard}). If that is right, lower it.`,
    )
}

/** How many addresses the present entries cover. A part that is missing while its account is repaired counts nothing. */
async function coveredBy(state: ViewState, { chunks }: ListRow, slices: Slices): Promise<Covered> {
  const counts = new CoveredCounts()
  for (const id of chunks) {
    const text = readerOfChunk(state, id)?.() ?? ''
    for (const line of linesIn(text)) counts.add(entryOf(line).cidr)
    if (slices.isDue()) await slices.pause()
  }
  return counts
}

const families = [
  ['ipv4', 'IPv4'],
  ['ipv6', 'IPv6'],
] as const

/** A list with entries of the other family alone begins with no more of all addresses: a /4, or what has lost a digit. */
const newFamilyShare = 1 / 16

/** A list that has nothing yet may begin with any number, but not with all there are. */
function checkGrowth({ source }: FedList, before: Covered, after: Covered): void {
  const { grow_guard = growGuardDefault } = source
  if (grow_guard === 0) return
  const hasOthers = before.ipv4 + before.ipv6 > 0
  for (const [family, name] of families) {
    const covers = `The list covers ${inDigits(after[family])} ${name} addresses`
    if (after[family] >= everyAddress[family])
      throw new FeedFault(
        'grown',
        `${covers}, as many as there are. If that is right, set "grow_guard" to 0.`,
      )
    if (before[family] === 0 && hasOthers && after[family] > everyAddress[family] * newFamilyShare)
      throw new FeedFault(
        'grown',
        `${covers} and none before, which is more than a sixteenth of all there are. If that is right, set "grow_guard" to 0.`,
      )
    if (before[family] > 0 && after[family] > before[family] * grow_guard)
      throw new FeedFault(
        'grown',
        `${covers} instead of ${inDigits(before[family])}, more than "grow_guard" times as many (${grow_guard}). If that is right, raise it, or set it to 0.`,
      )
  }
}

/** IPv6 ranges have more addresses than a number has digits. */
const inDigits = (count: number): string =>
  count <= Number.MAX_SAFE_INTEGER ? String(count) : `2^${Number(Math.log2(count).toFixed(1))}`

function succeeded({ source }: FedList, state: FeedState, nowMs: number): FeedState {
  const next_ms = nowMs + source.refresh_seconds * 1000
  return { ...state, fetched_ms: nowMs, failures: 0, error: null, refused: null, next_ms, claimed_ms: null }
}

function failed(
  { source }: FedList,
  state: FeedState,
  fault: FeedFault,
  hide: Hide,
  nowMs: number,
): FeedState {
  const failures = state.failures + 1
  const patienceMs = Math.max(retryMs * 2 ** Math.min(state.failures, doublingsMax), fault.retryAfterMs ?? 0)
  const { code } = fault
  const message = hide(fault.message)
  const since_ms = state.error?.code === code ? state.error.since_ms : nowMs
  return {
    ...state,
    failures,
    error: { code, message, since_ms },
    next_ms: nowMs + Math.min(patienceMs, source.refresh_seconds * 1000),
    claimed_ms: null,
  }
}
