/** Enters input messages whose packs are stored in the ledger, then acknowledges them. */

import type {
  InputCounts,
  InputEntry,
  InputStream,
  LedgerEntry,
  LedgerWriter,
  SourcesEntry,
} from '../../delivery/books/ledger.js'
import { SequenceSet } from '../../delivery/wire/sequence-set.js'
import { monotonicMs, sleep } from '../../ground/core/clock.js'
import { GroupCommit } from '../../ground/core/group-commit.js'
import { getOrMake } from '../../ground/core/maps.js'

/** A message that is processed, and everything it caused is stored. */
export interface DoneMessage {
  readonly sequence: number
  readonly since: string
  readonly storedAtMs: number
  /** Messages with the same object share an entry. */
  readonly counts: InputCounts
  /** The lists of sources that the counts refer to. */
  readonly lists: readonly SourcesEntry[]
  acknowledge(): void
}

/** A list that is in use is named again after this time: a ledger that was lost may have grown as long as before. */
const namedAgainAfterMs = 60_000
/** Lists whose last naming is remembered: more than the accounts that have traffic within a minute. */
const namedMax = 100_000

export class InputLedger {
  readonly #commits: GroupCommit<DoneMessage>
  readonly #ledger: LedgerWriter
  /** When each list was named. */
  readonly #namedMs = new Map<string, number>()
  /** The run of the ledger that they were named in. */
  #namedIn = 0

  constructor(ledger: LedgerWriter, stream: InputStream) {
    this.#ledger = ledger
    this.#commits = new GroupCommit({
      write: async (done) => {
        try {
          await this.#write([...this.#listsToName(done), ...entriesOf(done, stream)])
          if (ledger.runs !== this.#namedIn) await this.#write(this.#listsToName(done))
        } catch {
          // The ledger closes. The messages are not acknowledged, so they are redelivered.
          return
        }
        for (const message of done) message.acknowledge()
      },
    })
  }

  add(message: DoneMessage): void {
    this.#commits.put(message)
  }

  async #write(entries: readonly LedgerEntry[]): Promise<void> {
    await Promise.all(entries.map((entry) => this.#ledger.write([entry])))
  }

  /** The lists that these messages refer to and that were not named lately. */
  #listsToName(done: readonly DoneMessage[]): readonly SourcesEntry[] {
    const atMs = monotonicMs()
    if (this.#ledger.runs !== this.#namedIn) this.#namedMs.clear()
    this.#namedIn = this.#ledger.runs
    const due: SourcesEntry[] = []
    for (const { lists } of done)
      for (const entry of lists) {
        const namedMs = this.#namedMs.get(entry.list)
        if (namedMs !== undefined && atMs - namedMs < namedAgainAfterMs) continue
        if (this.#namedMs.size >= namedMax) this.#namedMs.clear()
        this.#namedMs.set(entry.list, atMs)
        due.push(entry)
      }
    return due
  }

  /** Waits for messages that were added; gives up after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const ended = new AbortController()
    await Promise.race([this.#commits.written(), sleep(withinMs, ended.signal)])
    ended.abort()
  }
}

/** Messages with the same counts share an entry. */
function* entriesOf(done: readonly DoneMessage[], stream: InputStream): Generator<InputEntry> {
  const runs = new Map<string, Map<InputCounts, { sequences: SequenceSet; storedAtMs: number }>>()
  for (const { sequence, since, storedAtMs, counts } of done) {
    const run = getOrMake(runs, since, () => new Map())
    const entry = getOrMake(run, counts, () => ({ sequences: new SequenceSet(), storedAtMs }))
    entry.sequences.add([sequence, sequence])
    if (sequence === entry.sequences.highest) entry.storedAtMs = storedAtMs
  }
  for (const [since, run] of runs)
    for (const [counts, { sequences, storedAtMs }] of run)
      yield { type: 'input', stream, since, ranges: sequences.ranges, storedAtMs, counts }
}
