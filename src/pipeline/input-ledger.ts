/** Input messages whose packs are stored: their counts go into the ledger, then they are acknowledged. */

import type { InputCounts, InputEntry, InputStream, LedgerWriter } from '../books/ledger.js'
import { sleep, yieldTurn } from '../core/clock.js'
import { getOrMake } from '../core/maps.js'
import { SequenceSet } from '../wire/sequence-set.js'

export interface DoneMessage {
  readonly sequence: number
  readonly since: string
  readonly counts: InputCounts
  acknowledge(): void
}

export class InputLedger {
  readonly #ledger: LedgerWriter
  readonly #stream: InputStream
  #done: DoneMessage[] = []
  #writing: Promise<void> | undefined

  constructor(ledger: LedgerWriter, stream: InputStream) {
    this.#ledger = ledger
    this.#stream = stream
  }

  add(message: DoneMessage): void {
    this.#done.push(message)
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    await yieldTurn()
    while (this.#done.length > 0) {
      const done = this.#done.splice(0)
      try {
        await this.#ledger.write([...entriesOf(done, this.#stream)])
      } catch {
        // The ledger closes. Nothing was acknowledged, so everything comes again.
        break
      }
      for (const message of done) message.acknowledge()
    }
    this.#writing = undefined
  }

  /** Waits for what was added; gives up after `withinMs`. */
  async close(withinMs: number): Promise<void> {
    const ended = new AbortController()
    await Promise.race([this.#writing, sleep(withinMs, ended.signal)])
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
