/**
 * The newest decisions: the last of the log, then those of the stream. They are shown some times a second and not one by one, and not while someone points at
 * the table: nothing moves under the mouse.
 */
import { signal } from '@preact/signals'
import type { WatchRate } from '../../client/client.js'
import type { LoggedDecision } from '../../shape/logged-decision.js'
import { api, firstOf } from './api.js'
import { every, sleep } from './clock.js'

const rowsMax = 200
/** Of the log, to begin with. */
const pastRows = 50
const showEveryMs = 200
/** Rows that wait while the table is held; older ones are dropped, and counted. */
const waitingMax = 1_000
const againAfterMs = 2_000

export class LiveRows {
  /** Newest first. */
  readonly rows = signal<readonly LoggedDecision[]>([])
  readonly rate = signal<WatchRate>({ seen: 0, sent: 0, lost: 0 })
  readonly error = signal<unknown>(undefined)
  /** How many wait while the table is held. */
  readonly waiting = signal(0)
  readonly isPaused = signal(false)
  /** Someone points at a row. */
  readonly isPointedAt = signal(false)
  #new: LoggedDecision[] = []

  #opened: LoggedDecision | undefined

  /** The decision with this id, also when newer ones have taken its place in the table. */
  known(id: string): LoggedDecision | undefined {
    const found = this.rows.value.find((each) => each.id === id)
    if (found !== undefined) this.#opened = found
    return this.#opened?.id === id ? this.#opened : undefined
  }

  /** Until the signal; a stream that ends is opened again. */
  async run(filter: string, edge: string, stop: AbortSignal): Promise<void> {
    this.rows.value = []
    this.#new = []
    const shown = every(showEveryMs, () => this.#show())
    try {
      await this.#begin(filter, edge, stop)
      while (!stop.aborted) {
        const isRefused = await this.#read(filter, edge, stop)
        if (isRefused) return
        await sleep(againAfterMs)
      }
    } finally {
      shown.stop()
    }
  }

  /** The last decisions of the log, so that the table is not empty in quiet times. */
  async #begin(filter: string, edge: string, stop: AbortSignal): Promise<void> {
    const options = {
      ...(filter && { filter }),
      ...(edge && { edgeId: edge }),
      since: '24h',
      limit: pastRows,
    }
    // If there is no log, or the filter is wrong, the stream says so.
    const past = await firstOf(api.decisions(options), pastRows).catch(() => undefined)
    if (past !== undefined && !stop.aborted) this.rows.value = past.entries
  }

  /** True if asking again would give the same refusal. */
  async #read(filter: string, edge: string, stop: AbortSignal): Promise<boolean> {
    try {
      const options = { filter: filter || undefined, edge: edge || undefined, signal: stop }
      const rate = (given: WatchRate): void => {
        this.error.value = undefined
        this.rate.value = given
      }
      for await (const decision of api.watchDecisions({ ...options, rate })) {
        this.#new.push(decision)
        if (this.#new.length > waitingMax) this.#new.shift()
      }
    } catch (error) {
      if (stop.aborted) return true
      this.error.value = error
      return isRefusal(error)
    }
    return false
  }

  #show(): void {
    const isHeld = this.isPaused.value || this.isPointedAt.value
    this.waiting.value = isHeld ? this.#new.length : 0
    if (isHeld || this.#new.length === 0) return
    const before = new Set(this.rows.value.map(({ id }) => id))
    const added = this.#new.filter(({ id }) => !before.has(id)).toReversed()
    this.rows.value = [...added, ...this.rows.value].slice(0, rowsMax)
    this.#new = []
  }
}

/** Such as a filter that is wrong. */
const isRefusal = (error: unknown): boolean => {
  const status = (error as { readonly status_code?: number }).status_code ?? 0
  return status >= 400 && status < 500 && status !== 429
}
