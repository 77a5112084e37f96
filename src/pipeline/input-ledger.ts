/** Enters input messages whose packs are stored in the ledger, then acknowledges them. */

import type { InputCounts, InputEntry, InputStream, LedgerWriter } from '../books/ledger.js'
import { sleep } from '../core/clock.js'
import { GroupCommit } from '../core/group-commit.js'
import { getOrMake } from '../core/maps.js'
import { SequenceSet } from '../wire/sequence-set.js'

/** A message that is processed, and everything it caused is stored. */
export interface DoneMessage {
  readonly sequence: number
  readonly since: string
  readonly counts: InputCounts
  acknowledge(): void
}

export class InputLedger {
  readonly #commits: GroupCommit<DoneMessage>

  constructor(ledger: LedgerWriter, stream: InputStream) {
    this.#commits = new GroupCommit({
      write: async (done) => {
        try {
          await ledger.write([...entriesOf(done, stream)])
        } catch {
          // The ledger closes. The messages are not acknowledged, so they are redelivered.
          return
        }
        for (const message of done) message.acknowledge()
      },
    })
  }

  add(message: DoneMessage): void {
    void this.#commits.add(message)
  }

  /** Waits for messages that were added; gives up after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const ended = new AbortController()
    await Promise.race([this.#commits.written(), sleep(withinMs, ended.signal)])
    ended.abort()
  }
}

/** Messages with equal counts share an entry. */
function* entriesOf(done: readonly DoneMessage[], stream: InputStream): Generator<InputEntry> {
  const groups = new Map<string, { since: string; counts: InputCounts; sequences: SequenceSet }>()
  for (const { sequence, since, counts } of done) {
    const fresh = () => ({ since, counts, sequences: new SequenceSet() })
    getOrMake(groups, `${since} ${JSON.stringify(counts)}`, fresh).sequences.add([sequence, sequence])
  }
  for (const { since, counts, sequences } of groups.values())
    yield { type: 'input', stream, since, ranges: sequences.ranges, counts }
}
