/** How the fetches of a list went, as it is shown. */
import { isoSeconds } from '../../../ground/core/clock.js'
import {
  type FeedStatus,
  type IpListSource,
  isStale,
  sourceIdentity,
} from '../../../words/resource/fields/ip-list-source.js'
import type { AnyResource, Row } from '../../../words/resource/kind/define.js'
import { type ListRow, listKind } from '../../../words/view/list-chunks.js'
import type { FeedState, FeedStates } from './feed-states.js'

export type FedList = ListRow & { readonly source: IpListSource }

/** Undefined for a list without a source. */
export const fedList = (row: Row): FedList | undefined =>
  row['source'] ? (row as unknown as FedList) : undefined

/** Before the first fetch from a source. */
export const newState = (source: IpListSource, nowMs: number): FeedState => ({
  of: sourceIdentity(source),
  since_ms: nowMs,
  fetched_ms: null,
  changed_ms: null,
  etag: null,
  last_modified: null,
  content: null,
  parts: null,
  failures: 0,
  error: null,
  next_ms: nowMs,
  claimed_ms: null,
})

/**
 * When the next fetch is due. A time that is further away than a period is one of a clock that was ahead: then it is due
 * now.
 */
export const nextFetchMs = (
  { next_ms }: FeedState,
  { refresh_seconds }: IpListSource,
  nowMs: number,
): number => (next_ms - nowMs > refresh_seconds * 1000 ? nowMs : next_ms)

export class FeedStatuses {
  readonly #states: Pick<FeedStates, 'get'>

  constructor(states: Pick<FeedStates, 'get'>) {
    this.#states = states
  }

  /** The state of its present source; a new one if none is known. */
  stateOf({ id, source }: FedList, nowMs: number): FeedState {
    const state = this.#states.get(id)
    return state?.of === sourceIdentity(source) ? state : newState(source, nowMs)
  }

  /** Null for a list without a source. */
  of(list: Row, nowMs: number): FeedStatus | null {
    const fed = fedList(list)
    if (fed === undefined) return null
    const state = this.stateOf(fed, nowMs)
    const { fetched_ms, changed_ms, next_ms, etag, error } = state
    return {
      state: nameOf(fed.source, state, nowMs),
      fetched_at: timeOrNull(fetched_ms),
      changed_at: timeOrNull(changed_ms),
      // That of a file is made up here.
      etag: fed.source.url === null ? null : etag,
      next_at: isoSeconds(next_ms),
      error: error && { code: error.code, message: error.message, since: isoSeconds(error.since_ms) },
    }
  }

  /** The row of a list with its status; any other row as it is. */
  shown({ kind }: Pick<AnyResource, 'kind'>, row: Row, nowMs: number): Row {
    return kind === listKind ? { ...row, source_status: this.of(row, nowMs) } : row
  }
}

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoSeconds(ms))

/** When its source was last read without a fault, or given to it. */
export const lastGoodMs = ({ fetched_ms, since_ms }: FeedState): number => fetched_ms ?? since_ms

function nameOf(source: IpListSource, state: FeedState, nowMs: number): FeedStatus['state'] {
  if (isStale(source, lastGoodMs(state), nowMs)) return 'stale'
  if (state.error !== null) return 'failing'
  return state.fetched_ms === null ? 'waiting' : 'current'
}
