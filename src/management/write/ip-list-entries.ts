/**
 * Replaces all entries of an IP list by one write that is seen whole.
 *
 * A few parts are written together with the list's row. Many do not fit one change, so they are stored first, by writes of
 * their own, and count when the row names them. Parts that no row names are left by a process that died or by a write
 * that was refused, and are deleted.
 */
import { isoSeconds, monotonicMs, now, startOfSecond } from '../../ground/core/clock.js'
import { conflict, unavailable, WeirError } from '../../ground/core/errors.js'
import { newId } from '../../ground/core/ids.js'
import { ipListBytesPerAccountMax, ipListEntriesPerAccountMax } from '../../ground/core/limits.js'
import { sourceIdentity } from '../../words/resource/fields/ip-list-source.js'
import { ipList, ipListChunk } from '../../words/resource/ip-list.js'
import { anyResource, type Row } from '../../words/resource/kind/define.js'
import { chunkIn, chunksOfList, type ListRow, listChunkKind, listKind } from '../../words/view/list-chunks.js'
import type { ViewState } from '../../words/view/view-state.js'
import { type Caller, whileKeyLasts } from '../access/caller.js'
import { rowOf, rowsOf } from '../exchange/rows.js'
import type { Principal } from '../store/change/change.js'
import { notWritten, withOutcomeOf } from '../store/change/outcome.js'
import { type Plan, unchanged } from '../store/change/plan.js'
import type { Rehearsals } from '../store/rehearsals.js'
import type { Store } from '../store/store.js'
import { bytesPerChange, inChanges, type PackedChunk, type PackedList, packedBytes } from './list-packing.js'
import { chunkRemovals } from './row-relations.js'
import type { WriteResult, Writes } from './writes.js'

const list = anyResource(ipList)

/** Others may replace the same entries at the same time. */
const triesMax = 5
/** Parts that no list has named for so long were left behind. */
const abandonedAfterMs = 10 * 60_000

interface IpListEntriesParts {
  readonly store: Pick<Store, 'settled' | 'commit' | 'view'> & {
    readonly rehearsals: Pick<Rehearsals, 'verifyPlan'>
  }
  readonly writes: Writes
}

/** A part of the new entries: one that the list already has, or a row to store. */
interface Placed {
  readonly id: string
  readonly row: Row | undefined
}

interface EntriesWrite {
  readonly caller: Caller
  /** With what the request asked for. */
  readonly principal: Principal
  readonly listId: string
  readonly packed: PackedList
  /** The identity of the source that they come from; undefined if someone sets them. */
  readonly feedOf?: string
  readonly validateOnly?: boolean
  readonly signal?: AbortSignal | undefined
}

/** The list does not have the source any more that its new entries come from. */
export class SourceGone extends Error {}

export class IpListEntries {
  readonly #parts: IpListEntriesParts
  /** Parts that no list names, and since when this process has seen them: monotonic. */
  #unnamedSince: ReadonlyMap<string, number> = new Map()

  constructor(parts: IpListEntriesParts) {
    this.#parts = parts
  }

  /** Resolves with the list when its new entries count. */
  replace(write: EntriesWrite): Promise<WriteResult> {
    return withOutcomeOf(() => this.#replace(write))
  }

  /** The plan of a write that is a part of a batch, which one change must hold. `state`: what it will be planned with. */
  planInBatch(write: EntriesWrite, state: ViewState): Plan<WriteResult> {
    const placed = placedIn(state, write)
    const bytes = packedBytes(placed.flatMap(({ row }) => row ?? []))
    if (bytes > bytesPerChange)
      throw new WeirError(
        'ERR_BODY_TOO_LARGE',
        `The entries have ${bytes} bytes, compressed: a batch takes at most ${bytesPerChange} of a list. Replace them by themselves.`,
      )
    const plan = this.#plan(write, placed, { puts: true })
    return (...planning) => {
      const { result, ...draft } = plan(...planning)
      if (result === undefined)
        throw unavailable(`The entries of ${write.listId} were replaced by others meanwhile.`)
      return { ...draft, result }
    }
  }

  async #replace(write: EntriesWrite): Promise<WriteResult> {
    const { caller, principal, listId, validateOnly, signal } = write
    const { store } = this.#parts
    const { accountId } = caller
    for (let tries = 1; ; tries += 1) {
      signal?.throwIfAborted()
      const placed = placedIn(await store.settled(accountId), write)
      const whole = this.#plan(write, placed, { puts: true })
      // A write that would be refused is refused before anything is stored.
      const checked = await store.rehearsals.verifyPlan(accountId, principal, whole)
      const done = checked && !validateOnly ? await this.#write(write, placed, whole) : checked
      if (done !== undefined) return done
      if (tries === triesMax)
        throw unavailable(`The entries of ${listId} were replaced by others several times meanwhile.`)
    }
  }

  /** By one change if it holds all parts. Undefined if parts that the list had are gone: others replaced its entries. */
  async #write(
    write: EntriesWrite,
    placed: readonly Placed[],
    whole: Plan<WriteResult | undefined>,
  ): Promise<WriteResult | undefined> {
    const rows = placed.flatMap(({ row }) => row ?? [])
    return packedBytes(rows) <= bytesPerChange
      ? this.#parts.store.commit(write.caller.accountId, write.principal, whole)
      : this.#inSteps(write, placed, rows)
  }

  /** The parts first, and then the list that names them. */
  async #inSteps(
    write: EntriesWrite,
    placed: readonly Placed[],
    rows: readonly Row[],
  ): Promise<WriteResult | undefined> {
    const { caller, principal, signal } = write
    const { store } = this.#parts
    try {
      for (const some of inChanges(rows)) {
        signal?.throwIfAborted()
        await this.#putParts(write, some)
      }
      const done = await store.commit(caller.accountId, principal, this.#plan(write, placed, { puts: false }))
      if (done === undefined) await this.#drop(caller.accountId, rows)
      return done
    } catch (error) {
      await this.#drop(caller.accountId, rows)
      throw error
    }
  }

  /** Parts that are stored do not count yet: a failure, whatever became of them, leaves the list as it was. */
  async #putParts({ caller, principal }: EntriesWrite, rows: readonly Row[]): Promise<void> {
    try {
      await this.#parts.store.commit(caller.accountId, principal, whileKeyLasts(caller, putsOf(rows)))
    } catch (error) {
      throw notWritten(error)
    }
  }

  /** The plan of the write that makes the parts count; its result is undefined if it must be made again. */
  #plan(
    { caller, listId, packed: { entries, bytes }, feedOf }: EntriesWrite,
    placed: readonly Placed[],
    { puts }: { readonly puts: boolean },
  ): Plan<WriteResult | undefined> {
    const chunks = placed.map(({ id }) => id)
    const plan = (state: ViewState, version: number, at: number) => {
      const present = rowOf(state, caller.accountId, list, listId) as ListRow
      checkSource(present, feedOf)
      const missing = placed.some(({ id, row }) => !(puts && row) && chunkIn(state, id) === undefined)
      if (missing) return unchanged(undefined)
      checkBounds(state, caller.accountId, listId, entries, bytes)
      const isSame = isSameList(present.chunks, chunks)
      const values = isSame ? {} : { chunks, entries, bytes, updated_at: isoSeconds(at) }
      const draft = this.#parts.writes.update(caller, list, listId, () => values)(state, version, at)
      if (isSame) return draft
      const kept = new Set(chunks)
      const gone = present.chunks.filter((id) => !kept.has(id))
      const rows = puts ? placed.flatMap(({ row }) => row ?? []) : []
      return {
        ...draft,
        puts: [...chunkPuts(rows, version), ...draft.puts],
        removals: [...draft.removals, ...chunkRemovals(state, gone)],
      }
    }
    return whileKeyLasts(caller, plan)
  }

  /** Deletes parts that no list names. A failure leaves them to the next sweep. */
  async #drop(accountId: string, rows: readonly Row[]): Promise<void> {
    const ids = rows.map(({ id }) => id)
    try {
      await this.#parts.store.commit(accountId, ownPrincipal, dropPlan(accountId, ids))
    } catch {
      // The sweep finds them.
    }
  }

  /** Deletes the parts that writes of dead processes left. `nowMs`: monotonic. */
  async sweep(nowMs = monotonicMs()): Promise<void> {
    const { store } = this.#parts
    const { state } = store.view
    const byAccount = new Map<string, string[]>()
    const unnamed = new Map<string, number>()
    for (const row of state.rows.get(listChunkKind)?.values() ?? []) {
      if (isNamed(state, row)) continue
      const sinceMs = this.#unnamedSince.get(row.id) ?? nowMs
      unnamed.set(row.id, sinceMs)
      if (nowMs - sinceMs < abandonedAfterMs) continue
      byAccount.set(row.account_id, [...(byAccount.get(row.account_id) ?? []), row.id])
    }
    this.#unnamedSince = unnamed
    // An account that can't be written to now is swept the next time.
    const drop = ([accountId, ids]: [string, string[]]) =>
      store.commit(accountId, ownPrincipal, dropPlan(accountId, ids))
    await Promise.allSettled([...byAccount].map(drop))
  }
}

/** Weir itself. */
const ownPrincipal: Principal = { source: 'API', credentialId: null }

/** The parts in their order: those that the list has already are used again. */
function placedIn(state: ViewState, { caller: { accountId }, listId, packed }: EntriesWrite): Placed[] {
  const present = rowOf(state, accountId, list, listId) as ListRow
  const known = new Map((chunksOfList(state, present) ?? []).map(({ hash, id }) => [hash, id]))
  return packed.chunks.map((chunk) => {
    const id = known.get(chunk.hash)
    // Equal parts of one list are several rows.
    if (id !== undefined) known.delete(chunk.hash)
    return id === undefined ? newPart(accountId, listId, chunk) : { id, row: undefined }
  })
}

function newPart(account_id: string, ip_list_id: string, { hash, entries, data }: PackedChunk): Placed {
  const id = newId(ipListChunk.idPrefix)
  const head = { id, account_id, version: 0, created_at: startOfSecond(now()) }
  return { id, row: { ...head, ip_list_id, hash, entries, data } }
}

/** A list has its entries from its source alone, or from those who set them. */
function checkSource({ id, source }: ListRow, feedOf: string | undefined): void {
  if (feedOf !== undefined && (!source || sourceIdentity(source) !== feedOf)) throw new SourceGone()
  if (feedOf === undefined && source)
    throw conflict(
      `The entries of the IP list ${id} come from its "source", so they can't be set. Remove the source first.`,
    )
}

const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id, index) => id === other[index])

function checkBounds(
  state: ViewState,
  accountId: string,
  listId: string,
  entries: number,
  bytes: number,
): void {
  let [allEntries, allBytes] = [entries, bytes]
  for (const row of rowsOf(state, accountId, listKind)) {
    if (row.id === listId) continue
    const { entries, bytes } = row as ListRow
    allEntries += entries
    allBytes += bytes
  }
  if (allEntries > ipListEntriesPerAccountMax)
    throw conflict(
      `The lists of the account would have ${allEntries} entries: at most ${ipListEntriesPerAccountMax} are allowed.`,
    )
  if (allBytes > ipListBytesPerAccountMax)
    throw conflict(
      `The lists of the account would take ${allBytes} bytes, compressed: at most ${ipListBytesPerAccountMax} are allowed.`,
    )
}

const chunkPuts = (rows: readonly Row[], version: number) =>
  rows.map((row) => ({ kind: listChunkKind, row: { ...row, version }, isNew: true }))

const putsOf =
  (rows: readonly Row[]): Plan<undefined> =>
  (_state, version) => ({ puts: chunkPuts(rows, version), removals: [], audits: [], result: undefined })

/** Does the list of a part name it? */
function isNamed(state: ViewState, { id, ip_list_id }: Row): boolean {
  const row = state.rows.get(listKind)?.get(String(ip_list_id)) as ListRow | undefined
  return row?.chunks.includes(id) === true
}

const dropPlan =
  (accountId: string, ids: readonly string[]): Plan<undefined> =>
  (state) => {
    const unnamed = ids.filter((id) => {
      const row = chunkIn(state, id)
      return row !== undefined && row.account_id === accountId && !isNamed(state, row as Row)
    })
    return { puts: [], removals: chunkRemovals(state, unnamed), audits: [], result: undefined }
  }
