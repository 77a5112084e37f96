/**
 * Entries of streams and buckets that no one can read, whatever wrote them. Each is skipped, counted, named with its
 * sequence, and its bytes are kept in a file for an operator, because a stream forgets them, and a bucket that is repaired
 * does. A reader goes on: one entry must never stand in the way of a start, or of the entries behind it.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../core/errors.js'
import { hash128 } from '../core/ids.js'
import type { Occurrences } from '../core/telemetry/occurrences.js'

interface EntryPlace {
  /** The stream; that of a bucket begins with `KV_`. */
  readonly stream: string
  readonly sequence: number
  /** The key of an entry of a bucket. */
  readonly key?: string
}

interface DamagedEntriesOptions {
  readonly occurrences: Pick<Occurrences, 'entryDamaged'> | undefined
  /** Without it, nothing is kept. */
  readonly dir: string | undefined
}

/** Files of a directory: a user who may write to a stream could write millions of damaged entries. */
const filesMax = 1_000
/** Entries that are remembered, so that each is reported once, however often it is read. */
const rememberedMax = 10_000

export class DamagedEntries {
  readonly #options: DamagedEntriesOptions
  readonly #known = new Set<string>()
  /** By stream. */
  readonly #found = new Map<string, number>()

  constructor(options: DamagedEntriesOptions) {
    this.#options = options
  }

  report({ stream, sequence, key }: EntryPlace, bytes: Uint8Array, error: unknown): void {
    this.#found.set(stream, this.found(stream) + 1)
    // The sequences of a recreated stream begin again.
    const name = `${stream}-${sequence}-${hash128(Buffer.from(bytes).toString('latin1')).slice(0, 8)}`
    if (this.#known.has(name)) return
    this.#known.add(name)
    if (this.#known.size > rememberedMax) this.#known.delete(this.#known.values().next().value!)
    this.#options.occurrences?.entryDamaged({
      stream,
      sequence,
      ...(key !== undefined && { key }),
      bytes: bytes.length,
      reason: messageOf(error),
      file: this.#keep(name, bytes),
    })
  }

  /** How often this process came upon damaged entries of a stream, also upon the same ones. */
  found(stream: string): number {
    return this.#found.get(stream) ?? 0
  }

  /** The file that has the bytes, or the reason why there is none. */
  #keep(name: string, bytes: Uint8Array): string {
    const { dir } = this.#options
    if (dir === undefined) return 'none: this program keeps no files'
    const path = join(dir, name)
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      if (readdirSync(dir).length >= filesMax) return `none: ${dir} has ${filesMax} files already`
      writeFileSync(path, bytes, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      // Processes that share the directory read the same entry.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return `none: ${messageOf(error)}`
    }
    return path
  }
}
