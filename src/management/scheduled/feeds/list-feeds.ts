/**
 * Start here: IP lists that are fed by a source. Every API process looks for lists that are due; one of them claims each
 * (`feed-states.ts`) and fetches it (`feed-turn.ts`).
 */
import { every, monotonicMs, now, type Timer } from '../../../ground/core/clock.js'
import { conflict, messageOf, unavailable } from '../../../ground/core/errors.js'
import { getOrMake } from '../../../ground/core/maps.js'
import type { Level } from '../../../ground/core/telemetry/metrics.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import {
  feedStates,
  type PreviewedSource,
  sourceIdentity,
} from '../../../words/resource/fields/ip-list-source.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { IpListPreview } from '../../../words/shape/ip-lists/ip-list-preview.js'
import { listKind } from '../../../words/view/list-chunks.js'
import type { View } from '../../../words/view/view.js'
import type { Store } from '../../store/store.js'
import type { FeedState, FeedStates } from './feed-states.js'
import { type FedList, type FeedStatuses, fedList, lastGoodMs, newState, nextFetchMs } from './feed-status.js'
import { FeedTurns, type Turn, type TurnOutcome, type TurnParts } from './feed-turn.js'

const lookMs = 1_000
/** Fetches of a process at the same time: a server that does not answer holds up one for a minute. */
const atOnceMax = 8
/** So that one account with many slow servers leaves room to the others. */
const atOncePerAccountMax = 2
/**
 * After the entries of a large list were read and written, the account rests so many times as long: it gets a fifth of a
 * core.
 */
const restFactor = 4
/** A list that takes less time is not large. */
const restingFromMs = 250
/** States of lists that do not exist are dropped when they are this old: another process may know of a list first. */
const droppedAfterMs = 10 * 60_000

export interface ListFeedsParts extends TurnParts {
  readonly store: Pick<Store, 'refusal' | 'sealedValue'> & {
    readonly view: Pick<View, 'state' | 'onChange' | 'isComplete'>
  }
  readonly states: FeedStates
  readonly statuses: FeedStatuses
  readonly occurrences: Pick<
    Occurrences,
    'listFed' | 'listFeedFailed' | 'listFeedStateUnsaved' | 'listSources' | 'listSourceAge'
  >
}

/** The outcome of a fetch that someone asked for. */
interface Refresh {
  readonly outcome: Exclude<TurnOutcome, 'gone'>
}

export class ListFeeds {
  readonly #parts: ListFeedsParts
  readonly #turns: FeedTurns
  /** By list: fetches of this process. */
  readonly #running = new Map<string, { readonly accountId: string; readonly done: Promise<unknown> }>()
  /** By account: until when it rests, on the monotonic clock. */
  readonly #resting = new Map<string, number>()
  readonly #stop = new AbortController()
  /** Lists with a source; undefined if lists have changed since. */
  #fed: readonly FedList[] | undefined
  #timer: Timer | undefined

  constructor(parts: ListFeedsParts) {
    this.#parts = parts
    this.#turns = new FeedTurns(parts)
    parts.store.view.onChange((kind) => {
      if (kind === listKind || kind === '*') this.#fed = undefined
    })
  }

  /** From now on, lists are fetched when they are due. */
  start(): void {
    const { occurrences } = this.#parts
    this.#timer = every(lookMs, () => void this.look())
    occurrences.listSources(() => this.#levels(now()))
    occurrences.listSourceAge(() => this.#age(now()))
  }

  /** Fetches what is due, and resolves when that is done. */
  async look(nowMs = now()): Promise<void> {
    const { store } = this.#parts
    if (store.refusal !== undefined || !store.view.isComplete || this.#stop.signal.aborted) return
    const begun = this.#due(nowMs).map((list) => this.#begin(list, nowMs, { isForced: false }))
    await Promise.all([...begun, this.#drop(nowMs)])
  }

  /** Fetches a list now. Rejects with a `WeirError` if that can't be tried. */
  async refresh(list: Row): Promise<Refresh> {
    const fed = fedList(list)
    if (fed === undefined)
      throw conflict(`The IP list ${list.id} has no "source" that it could be fetched from.`)
    if (this.#running.has(list.id)) throw beingFetched(list.id)
    const turn = await this.#begin(fed, now(), { isForced: true })
    if (turn === undefined) throw beingFetched(list.id)
    if (turn.outcome === 'gone')
      throw conflict(`The source of the IP list ${list.id} was changed while it was fetched.`)
    return { outcome: turn.outcome }
  }

  /** The list that a source has. Nothing is stored, and no IP list needs to be there. */
  preview(accountId: string, source: PreviewedSource): Promise<IpListPreview> {
    return this.#turns.preview(accountId, source, this.#stop.signal)
  }

  // --- what is due ---

  get #lists(): readonly FedList[] {
    this.#fed ??= [...(this.#parts.store.view.state.rows.get(listKind)?.values() ?? [])].flatMap(
      (row) => fedList(row) ?? [],
    )
    return this.#fed
  }

  /** Those that wait longest first, as many as there is room for. */
  #due(nowMs: number): FedList[] {
    const ofAccounts = new Map<string, number>()
    const count = (accountId: string) => void ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + 1)
    for (const { accountId } of this.#running.values()) count(accountId)
    for (const [accountId, untilMs] of this.#resting)
      if (untilMs <= monotonicMs()) this.#resting.delete(accountId)
    const waiting = this.#lists.flatMap((list) => {
      const dueMs = this.#dueMs(list, nowMs)
      const mayBegin = !this.#running.has(list.id) && !this.#resting.has(list.account_id)
      return dueMs <= nowMs && mayBegin ? [{ list, dueMs }] : []
    })
    const due: FedList[] = []
    for (const { list } of waiting.sort((one, other) => one.dueMs - other.dueMs)) {
      if (this.#running.size + due.length >= atOnceMax) break
      if ((ofAccounts.get(list.account_id) ?? 0) >= atOncePerAccountMax) continue
      count(list.account_id)
      due.push(list)
    }
    return due
  }

  #dueMs({ id, source }: FedList, nowMs: number): number {
    const state = this.#parts.states.get(id)
    if (state === undefined) return 0
    if (this.#parts.states.isClaimed(id, state)) return Number.POSITIVE_INFINITY
    return state.of === sourceIdentity(source) ? nextFetchMs(state, source, nowMs) : 0
  }

  // --- a fetch ---

  /** Undefined if another process does it, or has done it. */
  #begin(list: FedList, nowMs: number, options: { readonly isForced: boolean }): Promise<Turn | undefined> {
    const done = this.#fetch(list, nowMs, options).finally(() => this.#running.delete(list.id))
    this.#running.set(list.id, { accountId: list.account_id, done: done.catch(() => {}) })
    return options.isForced ? done : done.catch((error: unknown) => this.#unsaved(list.id, error))
  }

  async #fetch(
    list: FedList,
    nowMs: number,
    { isForced }: { readonly isForced: boolean },
  ): Promise<Turn | undefined> {
    const { states } = this.#parts
    const { state: before, revision } = await states.read(list.id)
    if (states.isClaimed(list.id, before)) return undefined
    const state = before?.of === sourceIdentity(list.source) ? before : newState(list.source, nowMs)
    if (!isForced && nextFetchMs(state, list.source, nowMs) > nowMs) return undefined
    const claim = await states.claim(list.id, state, revision)
    if (claim === undefined) return undefined
    try {
      const turn = await this.#turns.run(list, state, nowMs, this.#stop.signal)
      this.#report(list, turn)
      if (turn.workMs >= restingFromMs)
        this.#resting.set(list.account_id, monotonicMs() + restFactor * turn.workMs)
      await claim.end(turn.state)
      return turn
    } catch (error) {
      // The process ends: another one need not wait for the end of the claim. Otherwise it ends by itself.
      if (this.#stop.signal.aborted) await claim.end(state)
      throw error
    } finally {
      claim.stop()
    }
  }

  #report({ id, account_id, entries: before }: FedList, { outcome, state, error }: Turn): void {
    const { occurrences } = this.#parts
    if (outcome === 'changed') occurrences.listFed({ account_id, ip_list_id: id, entries_before: before })
    if (outcome !== 'failed' || state.error === null) return
    const { code, message } = state.error
    // The status has no reason of a defect; the log does.
    const reason = code === 'internal' ? messageOf(error) : message
    occurrences.listFeedFailed({ account_id, ip_list_id: id, code, reason })
  }

  #unsaved(ip_list_id: string, error: unknown): undefined {
    if (this.#stop.signal.aborted) return
    this.#parts.occurrences.listFeedStateUnsaved({ ip_list_id, reason: messageOf(error) })
  }

  /** Forgets states of lists that are deleted or have no source any more. */
  async #drop(nowMs: number): Promise<void> {
    const { states } = this.#parts
    const fed = new Set(this.#lists.map(({ id }) => id))
    for (const id of [...states.lists]) {
      const state = states.get(id)
      if (fed.has(id) || state === undefined || nowMs - lastMs(state) < droppedAfterMs) continue
      await states.forget(id).catch((error: unknown) => this.#unsaved(id, error))
    }
  }

  // --- measurements ---

  #levels(nowMs: number): Level<'state'>[] {
    const counts = new Map<string, number>(feedStates.map((state) => [state, 0]))
    for (const list of this.#lists) {
      const { state } = this.#parts.statuses.of(list, nowMs)!
      counts.set(state, getOrMake(counts, state, () => 0) + 1)
    }
    return [...counts].map(([state, lists]): Level<'state'> => [{ state }, lists])
  }

  /** The age of the list whose last successful fetch is the oldest, in periods of that list. */
  #age(nowMs: number): Level<never>[] {
    const periods = this.#lists.map((list) => {
      const ageMs = nowMs - lastGoodMs(this.#parts.statuses.stateOf(list, nowMs))
      return ageMs / 1000 / list.source.refresh_seconds
    })
    return periods.length === 0 ? [] : [[{}, periods.reduce((most, each) => Math.max(most, each), 0)]]
  }

  async close(): Promise<void> {
    this.#timer?.stop()
    this.#stop.abort()
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }
}

const beingFetched = (id: string) => unavailable(`The IP list ${id} is being fetched. Try again later.`)

/** When something happened to it last. */
const lastMs = ({ since_ms, fetched_ms, error, claimed_ms }: FeedState): number =>
  Math.max(since_ms, fetched_ms ?? 0, error?.since_ms ?? 0, claimed_ms ?? 0)
