/**
 * Watches ClickHouse and the buckets, and brings them back together after either was away, replaced or restored.
 *
 * Nothing is written while the two contradict each other: NATS holds another deployment's configuration, or one that
 * is ahead of the database (which was restored from an old backup). Reads go on; `contradiction` says why writes are
 * refused. An operator decides with `weir store adopt`, which rebuilds the buckets from ClickHouse. There is no command
 * for the opposite: the buckets hold only present rows, without history, so a lost database comes from a backup.
 */
import { every, monotonicMs, now, type Timer } from '../../ground/core/clock.js'
import { insistently } from '../../ground/core/concurrency.js'
import { messageOf } from '../../ground/core/errors.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { View } from '../../words/view/view.js'
import type { IdleGeneration } from '../../words/view/view-state.js'
import { openBuckets } from './buckets.js'
import { isTableMissing } from './clickhouse/errors.js'
import { hasQuorum, readDeployment } from './clickhouse/migrate.js'
import { type WriteFault, WriteProbe } from './clickhouse/write-probe.js'
import { ForeignRows } from './foreign-rows.js'
import { Queue } from './queues.js'
import { Reconciler, type ReconcilerParts } from './reconciler.js'

/** Rules staged but not committed within this time were left by a dead process. */
const stagingAbandonedAfterMs = 10 * 60_000

interface UpkeepParts extends Omit<ReconcilerParts, 'makeBuckets'> {
  readonly nats: Nats
  readonly bucketBytesMax: number
  readonly dropStaging: (idle: IdleGeneration) => Promise<void>
}

/** The interval, tries and timeout of the ClickHouse check: a ClickHouse that hangs is noticed within 4 s. */
const healthCheckMs = 1_000
/** The embedded engine can't be away while this process runs; but its tables can be damaged, and its disk full. */
const embeddedCheckMs = 5_000
const healthTriesMax = 2
const healthTimeoutMs = 1_500
/**
 * Nor does it hang by itself: if it is late, the machine is overloaded, and a write that waits is better than one refused.
 */
const embeddedTimeoutMs = 10_000
const bucketCheckMs = 10_000
const stagingSweepMs = 60_000
const foreignCheckMs = 30_000

export class Upkeep {
  readonly #parts: UpkeepParts
  readonly #reconciler: Reconciler
  readonly #foreignRows: ForeignRows
  readonly #timers: Timer[] = []
  readonly #probe: WriteProbe
  /** Why ClickHouse can't be written to. */
  #clickhouseFault: WriteFault | undefined
  readonly #looks = new Queue()
  #nextLook: Promise<void> | undefined
  #stopListening = (): void => {}
  #repaired: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(parts: UpkeepParts) {
    this.#parts = parts
    const makeBuckets = () => openBuckets(parts.nats, parts.bucketBytesMax)
    this.#reconciler = new Reconciler({ ...parts, makeBuckets })
    this.#foreignRows = new ForeignRows(parts)
    this.#probe = new WriteProbe(parts.clickhouse)
  }

  /** The reason why ClickHouse and the buckets must stay unchanged: one is away, or their contents are in doubt. */
  get contradiction(): string | undefined {
    return this.#clickhouseFault?.reason ?? this.#reconciler.refusal
  }

  /** The reason why nothing may be written now; undefined if writes are allowed. */
  get refusal(): string | undefined {
    if (this.contradiction !== undefined) return this.contradiction
    return this.#parts.view.isUsable
      ? undefined
      : 'The configuration is not complete yet; nothing was written.'
  }

  /**
   * Compares the buckets with ClickHouse, once, before the store is used. Resolves when accounts that are as they should
   * be can be served; the others are being repaired.
   */
  async reconcile(): Promise<void> {
    this.#repaired = this.#reconciler.run()
    await Promise.race([this.#repaired, this.#reconciler.othersServed])
    void this.#reported(() => this.#repaired)
  }

  /** Resolves when the repairs of the start have ended. */
  get repaired(): Promise<void> {
    return this.#repaired
  }

  /** Starts the regular checks. */
  start(): void {
    const { nats, view, clickhouse, dropStaging } = this.#parts
    this.#stopListening = nats.onReconnect(() => void this.#compareAgain('NATS'))
    const sweep = stagingSweep(view, dropStaging)
    this.#timers.push(
      every(clickhouse.isEmbedded ? embeddedCheckMs : healthCheckMs, () => this.checkClickhouse()),
      every(bucketCheckMs, () => this.#checkBuckets()),
      every(stagingSweepMs, () => this.#whileWritable(sweep)),
      every(foreignCheckMs, () => this.#whileWritable(() => this.#foreignRows.report())),
    )
  }

  /** The operator's decision that ClickHouse is right: the buckets are emptied and filled from it. */
  adoptClickhouse(): Promise<void> {
    return this.#reconciler.adoptClickhouse()
  }

  /**
   * Can ClickHouse be written to, and is it the same database? After an outage its contents are compared again. Callers
   * share a look that begins after all of them asked.
   */
  checkClickhouse(): Promise<void> {
    this.#nextLook ??= this.#looks.inTurn(() => {
      this.#nextLook = undefined
      return this.#lookAtClickhouse()
    })
    return this.#nextLook
  }

  async #lookAtClickhouse(): Promise<void> {
    const { occurrences } = this.#parts
    const before = this.#clickhouseFault
    const found = await this.#findClickhouse()
    this.#clickhouseFault = found
    occurrences.writesFailing({ reason: 'clickhouse' }, found === undefined ? 0 : 1)
    if (found !== undefined) {
      if (before?.reason !== found.reason) occurrences.storeUnavailable({ at: now(), ...found })
    } else if (before !== undefined) {
      occurrences.writesRecovered({ reason: 'clickhouse', part: 'store' })
      await this.#compareAgain('ClickHouse')
    }
  }

  /**
   * NATS or ClickHouse may have come back with an older copy of its data. The positions of the buckets do not always
   * show that: changes made since the last check and then rolled back leave no trace in them.
   */
  async #compareAgain(what: string): Promise<void> {
    this.#reconciler.doubt(`${what} was away; its contents are being compared.`)
    await this.#checkBuckets()
  }

  async #findClickhouse(): Promise<WriteFault | undefined> {
    try {
      const { clickhouse, deployment } = this.#parts
      const timeoutMs = clickhouse.isEmbedded ? embeddedTimeoutMs : healthTimeoutMs
      // An overloaded machine may answer late once, but hardly ever twice.
      const { id } = await insistently(() => readDeployment(clickhouse, timeoutMs), healthTriesMax, 0)
      if (id !== deployment.id)
        return { reason: 'ClickHouse holds another deployment than before; nothing was written.' }
      return (await hasQuorum(clickhouse, timeoutMs))
        ? await this.#probe.fault()
        : { reason: 'Too few servers of the ClickHouse cluster are up; nothing was written.' }
    } catch (error) {
      return isTableMissing(error)
        ? { reason: 'The tables in ClickHouse are missing; nothing was written.' }
        : { reason: 'ClickHouse does not answer; nothing was written.' }
    }
  }

  /** Refills a bucket that was recreated or restored under a running process. */
  async #checkBuckets(): Promise<void> {
    if (this.#clickhouseFault !== undefined) return
    await this.#reported(() => this.#reconciler.check())
  }

  async #whileWritable(work: () => Promise<void>): Promise<void> {
    if (this.refusal === undefined && this.#parts.view.isComplete) await this.#reported(work)
  }

  /** A failed check is reported and runs again at its next time. */
  async #reported(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (this.#isClosed) return
      this.#parts.occurrences.configurationUnreachable({ reason: messageOf(error) })
    }
  }

  close(): void {
    this.#isClosed = true
    for (const timer of this.#timers) timer.stop()
    this.#stopListening()
  }
}

/**
 * Deletes staged rules of processes that died before they committed them. A process that was only slow stages its
 * rules again.
 */
export function stagingSweep(
  view: View,
  drop: (idle: IdleGeneration) => Promise<void>,
  abandonedAfterMs = stagingAbandonedAfterMs,
): () => Promise<void> {
  /** The time at which this process first saw each generation that does not count. */
  let since = new Map<string, number>()
  return async () => {
    const idleSince = new Map<string, number>()
    for (const idle of [...view.state.idleGenerations()]) {
      const known = since.get(idle.generation) ?? monotonicMs()
      if (monotonicMs() - known >= abandonedAfterMs) await drop(idle)
      else idleSince.set(idle.generation, known)
    }
    since = idleSince
  }
}
