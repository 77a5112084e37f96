/**
 * The newest entries: those of the past, then those of a stream. They are shown some times a second and not one by one, and
 * not while someone points at the table: nothing moves under the mouse.
 */
import { signal } from '@preact/signals'
import type { WatchOptions, WatchRate } from '../../../../words/client/client.js'
import { every, sleep } from '../clock.js'
import { firstOf, useStream } from './api.js'
import { type Question, useQuestion, useShown } from './questions.js'

const rowsMax = 200
/** Entries of the past, to begin with. */
const pastRows = 50
const showEveryMs = 200
/** Rows that wait while the table is held; older ones are dropped, and counted. */
const waitingMax = 1_000
const againAfterMs = 2_000

interface Source<Row> {
  /** A stream of the typed client. */
  readonly watch: (options: Pick<WatchOptions, 'signal' | 'rate'>) => AsyncIterable<Row>
  /** The entries before, newest first, so that the table is not empty in quiet times. */
  readonly past?: (limit: number) => AsyncIterable<Row>
}

export class LiveRows<Row> implements Question {
  /** Newest first. */
  readonly rows = signal<readonly Row[]>([])
  readonly rate = signal<WatchRate>({ seen: 0, sent: 0, lost: 0 })
  readonly error = signal<unknown>(undefined)
  /** Neither the past nor the stream has answered yet. */
  readonly isWaiting = signal(true)
  /** How often reading was begun by someone. */
  readonly tries = signal(0)
  /** How many wait while the table is held. */
  readonly waiting = signal(0)
  readonly isPaused = signal(false)
  /** Someone points at a row. */
  readonly isPointedAt = signal(false)
  readonly #idOf: (row: Row) => string
  #new: Row[] = []
  #opened: Row | undefined

  constructor(idOf: (row: Row) => string) {
    this.#idOf = idOf
  }

  /** The entry with this id, also when newer ones have taken its place in the table. */
  known(id: string): Row | undefined {
    const found = this.rows.value.find((each) => this.#idOf(each) === id)
    if (found !== undefined) this.#opened = found
    return this.#opened !== undefined && this.#idOf(this.#opened) === id ? this.#opened : undefined
  }

  again(): void {
    this.tries.value += 1
  }

  /** Until the signal; a stream that ends is opened again. */
  async run(source: Source<Row>, stop: AbortSignal): Promise<void> {
    this.rows.value = []
    this.#new = []
    this.isWaiting.value = true
    const shown = every(showEveryMs, () => this.#show())
    try {
      await this.#begin(source, stop)
      while (!stop.aborted) {
        const isRefused = await this.#read(source, stop)
        if (isRefused) return
        await sleep(againAfterMs)
      }
    } finally {
      shown.stop()
    }
  }

  async #begin({ past }: Source<Row>, stop: AbortSignal): Promise<void> {
    if (past === undefined) return
    // If there is no past, or the filter is wrong, the stream says so.
    const found = await firstOf(past(pastRows), pastRows).catch(() => undefined)
    if (found === undefined || stop.aborted) return
    this.rows.value = found.entries
    this.isWaiting.value = false
  }

  /** True if asking again would give the same refusal. */
  async #read({ watch }: Source<Row>, stop: AbortSignal): Promise<boolean> {
    try {
      const rate = (given: WatchRate): void => {
        this.error.value = undefined
        this.isWaiting.value = false
        this.rate.value = given
      }
      for await (const row of watch({ signal: stop, rate })) {
        this.#new.push(row)
        if (this.#new.length > waitingMax) this.#new.shift()
      }
    } catch (error) {
      if (stop.aborted) return true
      this.error.value = error
      this.isWaiting.value = false
      return isRefusal(error)
    }
    return false
  }

  #show(): void {
    const isHeld = this.isPaused.value || this.isPointedAt.value
    this.waiting.value = isHeld ? this.#new.length : 0
    if (isHeld || this.#new.length === 0) return
    const before = new Set(this.rows.value.map(this.#idOf))
    const added = this.#new.filter((row) => !before.has(this.#idOf(row))).toReversed()
    this.rows.value = [...added, ...this.rows.value].slice(0, rowsMax)
    this.#new = []
  }
}

/**
 * Reads a source while the component is there; it shows failures. Begins again whenever `keys` change, and by `again` of the
 * rows.
 */
export function useLive<Row>(live: LiveRows<Row>, keys: readonly unknown[], source: Source<Row>): void {
  useQuestion(live)
  useShown({ question: live })
  useStream([live, live.tries.value, ...keys], (stop) => live.run(source, stop))
}

/** Such as a filter that is wrong. */
const isRefusal = (error: unknown): boolean => {
  const status = (error as { readonly status_code?: number }).status_code ?? 0
  return status >= 400 && status < 500 && status !== 429
}
