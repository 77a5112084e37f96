/**
 * Group commit: items that arrive while one write is under way are collected and written together in the next. A slow
 * write, such as one that is synced to disk, then limits how often groups are written, not how many items.
 */
import { yieldTurn } from './clock.js'

interface GroupCommitOptions<T> {
  /** Resolves when all these items are durable. Items are written in the order they were added in. */
  readonly write: (items: readonly T[]) => Promise<void>
  /** Bounds a group; an item larger than `sizeMax` is written alone. */
  readonly sizeOf?: (item: T) => number
  readonly sizeMax?: number
  /** Can a single item cause this error? If so, each item of the group is retried alone. */
  readonly isItemRefused?: (error: unknown) => boolean
}

interface Waiter<T> {
  readonly item: T
  resolve(): void
  reject(error: unknown): void
}

// For items that nobody waits for. A failure is an unhandled rejection, like that of a promise that nobody awaits.
const unnoticed = (): void => {}
const unhandled = (error: unknown): void => void Promise.reject(error)

export class GroupCommit<T> {
  readonly #options: GroupCommitOptions<T>
  #waiting: Waiter<T>[] = []
  #writing: Promise<void> | undefined

  constructor(options: GroupCommitOptions<T>) {
    this.#options = options
  }

  /** Resolves when the item is durable; rejects with the error of its write. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => this.#push({ item, resolve, reject }))
  }

  /** `add` without a promise: `write` sees to its own errors, and any that it throws is unhandled. */
  put(item: T): void {
    this.#push({ item, resolve: unnoticed, reject: unhandled })
  }

  #push(waiter: Waiter<T>): void {
    this.#waiting.push(waiter)
    this.#writing ??= this.#drain()
  }

  /** Resolves when all added items are written or refused. */
  async written(): Promise<void> {
    await this.#writing
  }

  async #drain(): Promise<void> {
    // Items added in the same turn of the event loop go into the first group.
    await yieldTurn()
    while (this.#waiting.length > 0) await this.#write(this.#take())
    this.#writing = undefined
  }

  async #write(group: readonly Waiter<T>[]): Promise<void> {
    const { write, isItemRefused } = this.#options
    try {
      await write(group.map(({ item }) => item))
      for (const { resolve } of group) resolve()
    } catch (error) {
      if (group.length > 1 && isItemRefused?.(error)) for (const waiter of group) await this.#write([waiter])
      else for (const { reject } of group) reject(error)
    }
  }

  #take(): Waiter<T>[] {
    const { sizeOf = () => 0, sizeMax = Number.POSITIVE_INFINITY } = this.#options
    let size = 0
    let count = 0
    for (const { item } of this.#waiting) {
      size += sizeOf(item)
      if (count > 0 && size > sizeMax) break
      count += 1
    }
    return this.#waiting.splice(0, count)
  }
}
