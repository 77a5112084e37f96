/** Input messages whose packs are stored: their counts go into the ledger, then they are acknowledged. */
import { yieldTurn } from '../core/clock.js'
import type { InputCounts, InputEntry, InputStream, LedgerWriter } from '../deliver/ledger.js'
import { SequenceSet } from '../deliver/sequence-set.js'
import type { CountVector } from './counts.js'

export interface DoneMessage {
  readonly sequence: number
  readonly counts: InputCounts
  acknowledge(): void
}

export const inputCounts = ({ records, bad, evaluated, decisions, sources }: CountVector): InputCounts => ({
  records,
  bad,
  ...evaluated,
  ...decisions,
  sources: sources.map(({ subscription_id, kind, destination_id, produced, filtered }) => [
    subscription_id,
    kind,
    destination_id,
    produced,
    filtered,
  ]),
})

export class InputLedger {
  readonly #ledger: LedgerWriter
  readonly #stream: InputStream
  readonly #since: string
  readonly #failed: (error: unknown) => void
  #done: DoneMessage[] = []
  #writing: Promise<void> | undefined

  constructor(ledger: LedgerWriter, stream: InputStream, since: string, failed: (error: unknown) => void) {
    this.#ledger = ledger
    this.#stream = stream
    this.#since = since
    this.#failed = failed
  }

  add(message: DoneMessage): void {
    this.#done.push(message)
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    try {
      await yieldTurn()
      while (this.#done.length > 0) {
        const done = this.#done.splice(0)
        await this.#ledger.write([...entriesOf(done, this.#stream, this.#since)])
        for (const message of done) message.acknowledge()
      }
    } catch (error) {
      // Nothing was acknowledged, so everything comes again.
      this.#failed(error)
    } finally {
      this.#writing = undefined
    }
  }

  async close(): Promise<void> {
    await this.#writing
  }
}

/** Messages with equal counts share an entry. */
function* entriesOf(done: readonly DoneMessage[], stream: InputStream, since: string): Generator<InputEntry> {
  const groups = new Map<string, { counts: InputCounts; sequences: SequenceSet }>()
  for (const { sequence, counts } of done) {
    const key = JSON.stringify(counts)
    let group = groups.get(key)
    if (group === undefined) groups.set(key, (group = { counts, sequences: new SequenceSet() }))
    group.sequences.add([sequence, sequence])
  }
  for (const { counts, sequences } of groups.values()) {
    yield { type: 'input', stream, since, ranges: sequences.ranges, counts }
  }
}
