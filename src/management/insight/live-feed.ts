/**
 * Lines for those who watch, from messages to which this process listens only while someone watches. Nothing waits for
 * a slow watcher: lines are left out, and counted for it.
 */
import { messageOf } from '../../ground/core/errors.js'
import { watchedLinesPerSecondMax } from '../../ground/core/limits.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'

/** Numbers of lines of the last second: sent to a watcher, and left out. */
export interface WatchRate {
  /** Lines that it asked for; estimated if only a part of them came here. */
  readonly seen: number
  readonly sent: number
  /** Not sent, because it reads too slowly. */
  readonly lost: number
}

export interface WatcherOptions<Line> {
  readonly wants: (line: Line) => boolean
  /** False if the reader is too slow to take it. */
  readonly send: (line: Line) => boolean
  /** Once a second. */
  readonly rate: (rate: WatchRate) => void
  /** The API stops. */
  readonly ended: () => void
}

class Watcher<Line> {
  readonly options: WatcherOptions<Line>
  #seen = 0
  #offered = 0
  #sent = 0
  #lost = 0
  /** Every so many lines one is sent: as the rate of the last second asks for. */
  #stride = 1

  constructor(options: WatcherOptions<Line>) {
    this.options = options
  }

  offer(line: Line, weight: number): void {
    if (!this.options.wants(line)) return
    this.#seen += weight
    this.#offered += 1
    if (this.#offered % this.#stride !== 0 || this.#sent + this.#lost >= watchedLinesPerSecondMax) return
    if (this.options.send(line)) this.#sent += 1
    else this.#lost += 1
  }

  endSecond(): void {
    this.options.rate({ seen: Math.round(this.#seen), sent: this.#sent, lost: this.#lost })
    this.#stride = Math.max(1, Math.ceil(this.#offered / watchedLinesPerSecondMax))
    this.#seen = 0
    this.#offered = 0
    this.#sent = 0
    this.#lost = 0
  }
}

export interface OfferedLine<Line> {
  /** The account or destination that its watchers watch. */
  readonly key: string
  readonly line: Line
  /** The number of lines that it stands for. */
  readonly weight: number
}

/** A header of a message; empty if it has none of this name. */
export type HeaderOf = (name: string) => string

interface LiveFeedOptions<Line> {
  readonly nats: Pick<Nats, 'subscribe'>
  readonly occurrences: Pick<Occurrences, 'watchersUnheard' | 'watchedRowsMalformed'>
  readonly subjects: readonly string[]
  /** The lines of a message whose key is watched. */
  readonly read: (
    data: Uint8Array,
    isWatched: (key: string) => boolean,
    headerOf: HeaderOf,
  ) => Iterable<OfferedLine<Line>>
}

export class LiveFeed<Line> {
  readonly #options: LiveFeedOptions<Line>
  readonly #watchers = new Map<string, Set<Watcher<Line>>>()
  #stopListening: (() => void) | undefined

  constructor(options: LiveFeedOptions<Line>) {
    this.#options = options
  }

  /** The keys that are watched. */
  get keys(): string[] {
    return [...this.#watchers.keys()]
  }

  /** The result ends the watching; it may be called again. */
  watch(key: string, options: WatcherOptions<Line>): () => void {
    const watcher = new Watcher(options)
    this.#watchers.set(key, (this.#watchers.get(key) ?? new Set()).add(watcher))
    this.#stopListening ??= this.#listen()
    return () => this.#end(key, watcher)
  }

  #end(key: string, watcher: Watcher<Line>): void {
    const watchers = this.#watchers.get(key)
    if (watchers?.delete(watcher) !== true) return
    if (watchers.size === 0) this.#watchers.delete(key)
    if (this.#watchers.size > 0) return
    this.#stopListening?.()
    this.#stopListening = undefined
  }

  #listen(): () => void {
    const { nats, occurrences, subjects } = this.#options
    const refused = (error: Error): void => occurrences.watchersUnheard({ reason: messageOf(error) })
    const subscriptions = subjects.map((subject) =>
      nats.subscribe(subject, (data, headerOf) => this.#receive(data, headerOf), refused),
    )
    return () => {
      for (const subscription of subscriptions) subscription.close()
    }
  }

  /** A message that is malformed must not end this process. */
  #receive(data: Uint8Array, headerOf: HeaderOf): void {
    try {
      const isWatched = (key: string): boolean => this.#watchers.has(key)
      for (const { key, line, weight } of this.#options.read(data, isWatched, headerOf))
        for (const watcher of this.#watchers.get(key) ?? []) watcher.offer(line, weight)
    } catch (error) {
      this.#options.occurrences.watchedRowsMalformed({ reason: messageOf(error) })
    }
  }

  endSecond(): void {
    for (const watcher of this.#all()) watcher.endSecond()
  }

  close(): void {
    for (const { options } of this.#all()) options.ended()
  }

  /** A copy: a watcher may end meanwhile. */
  #all(): Watcher<Line>[] {
    return [...this.#watchers.values()].flatMap((watchers) => [...watchers])
  }
}
