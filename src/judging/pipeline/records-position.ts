/** How far the live pipelines are in the records of one partition: windows begin ahead of them. */

import type { BehindDestination, LivePosition } from '../../delivery/wire/behind.js'
import { inputConsumer } from '../../delivery/wire/names.js'
import type { Partition } from '../../delivery/wire/partitions.js'
import { monotonicMs } from '../../ground/core/clock.js'
import { newId } from '../../ground/core/ids.js'
import type { Nats } from '../../ground/nats/nats.js'
import { streamIdentity } from '../../ground/nats/streams.js'

/** The present state of a partition's stream of records. */
export interface Records {
  readonly partition: Partition
  /** The run of the sequences of live records; empty before the first one of this process. */
  readonly run: string
  readonly identity: string
  readonly firstSequence: number
  readonly lastSequence: number
  readonly live: LivePosition
}

/** A rate that was measured over a shorter time says little. */
const rateOverMs = 200

export class RecordsPosition {
  readonly partition: Partition
  readonly #nats: Pick<Nats, 'streamInfo' | 'consumerInfo'>
  readonly #lookEveryMs: number
  /** The run of the sequences of live records. */
  run = ''
  #seen: { readonly delivered: number; readonly atMs: number } | undefined
  #messagesPerSecond = 0

  constructor(nats: Pick<Nats, 'streamInfo' | 'consumerInfo'>, partition: Partition, lookEveryMs: number) {
    this.#nats = nats
    this.partition = partition
    this.#lookEveryMs = lookEveryMs
  }

  /** `from`: the message with which a new window begins. */
  async now(from: number | undefined): Promise<Records | undefined> {
    const { partition, run } = this
    const info = await this.#nats.streamInfo(partition.recordsStream)
    const consumer = await this.#nats.consumerInfo(partition.recordsStream, inputConsumer)
    if (info === undefined || consumer === undefined) return undefined
    const { delivered } = consumer
    this.#measureRate(delivered)
    return {
      partition,
      run,
      identity: streamIdentity(info),
      firstSequence: info.state.first_seq,
      lastSequence: info.state.last_seq,
      live: { delivered, messagesPerSecond: this.#messagesPerSecond, from },
    }
  }

  #measureRate(delivered: number): void {
    const atMs = monotonicMs()
    const seen = this.#seen ?? { delivered, atMs: atMs - this.#lookEveryMs }
    if (atMs - seen.atMs < rateOverMs) return
    this.#seen = { delivered, atMs }
    this.#messagesPerSecond = Math.max(0, ((delivered - seen.delivered) * 1000) / (atMs - seen.atMs))
  }
}

/**
 * An entry of another run of sequences: after a restore of the stream, sequences above its end are assigned again, and
 * the consumer of the catch-up may be past them. Messages that the stream still has are caught up under another
 * id. A recreated stream has none of them.
 */
export function continued(entry: BehindDestination, { run, identity, live }: Records): BehindDestination {
  if (entry.run === run || run === '' || !run.startsWith(identity)) return entry
  const kept = entry.run.startsWith(identity) ? entry.windows : []
  const end = live.delivered + 1
  const windows = kept
    .map(([from, until]) => [from, Math.min(until, end)] as const)
    .filter(([from, until]) => from < until)
  return { ...entry, id: newId('cu_'), run, windows, done: Math.min(entry.done, live.delivered) }
}
