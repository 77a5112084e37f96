/**
 * Rows of decisions that ingress nodes and proxies ask for, for the decision log and for those who watch. An answer never
 * waits for its row. Beyond a rate, some questions have a row that stands for several.
 */
import { after, now, randomFraction, type Timer } from '../core/clock.js'
import { newId } from '../core/ids.js'
import { sharedSlot } from '../core/ip.js'
import type { Occurrences } from '../core/occurrences.js'
import { Sampler } from '../core/sampler.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { Decision } from '../event/define.js'
import { AskedRows } from '../wire/decision-rows.js'
import { isLogged, LogPublisher, RowBatch } from '../wire/log-publisher.js'
import { decisionRowsSubject, watchedRowsSubject } from '../wire/names.js'
import { type DecisionLogOptions, rowOf } from './decision-log.js'

interface AskedLogOptions extends DecisionLogOptions {
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost' | 'decisionAsked'>
}

/**
 * Rows a second of one account and decision, so that a flood of one account, or of what is let in, hides nothing else. At
 * this rate ClickHouse spends some hundredths of a core on them.
 */
export const askedRowsPerSecondMax = 1_000
/** A counter with a label takes a microsecond, which a flood of answers would notice. */
const countEveryMs = 1_000
/** Ids of two processes never meet: each numbers its questions from a random number on. */
const firstNumberMax = 2 ** 48

export class AskedLog {
  readonly #options: AskedLogOptions
  readonly #samplers: Readonly<Record<Decision, Sampler<Judgement>>>
  readonly #logged: LogPublisher<AskedRows>
  readonly #watched: RowBatch<AskedRows>
  #number = Math.floor(randomFraction() * firstNumberMax)
  /** Decisions that no counter has yet. */
  #asked: Record<Decision, number> = noneAsked()
  #counting: Timer | undefined

  constructor(options: AskedLogOptions) {
    this.#options = options
    const sampler = () =>
      new Sampler<Judgement>({
        perSecondMax: askedRowsPerSecondMax,
        take: (judgement, weight) => this.#write(judgement, weight),
      })
    this.#samplers = { allow: sampler(), block: sampler(), deny: sampler() }
    this.#logged = new LogPublisher({ ...options, rows: new AskedRows(), subject: decisionRowsSubject })
    this.#watched = new RowBatch(new AskedRows(), (data) => options.nats.emit(watchedRowsSubject, data))
  }

  /** Counts a decision. A question that no account is known for has no row. */
  add(judgement: Judgement): void {
    const { decision, endpoint } = judgement
    const { accountId } = endpoint
    this.#asked[decision] += 1
    this.#counting ??= after(countEveryMs, () => this.#count())
    if (accountId === undefined || this.#batchFor(accountId, judgement) === undefined) return
    this.#samplers[decision].add(accountId, judgement)
  }

  #count(): void {
    this.#counting?.stop()
    this.#counting = undefined
    for (const [decision, count] of Object.entries(this.#asked))
      if (count > 0) this.#options.occurrences.decisionAsked({ decision }, count)
    this.#asked = noneAsked()
  }

  #batchFor(accountId: string, { decision }: Judgement): RowBatch<AskedRows> | undefined {
    const { mode, watched } = this.#options
    if (isLogged(mode, decision !== 'allow')) return this.#logged.batch
    return watched.has(accountId) ? this.#watched : undefined
  }

  #write(judgement: Judgement, weight: number): void {
    const { accountId } = judgement.endpoint
    const batch = accountId === undefined ? undefined : this.#batchFor(accountId, judgement)
    if (accountId === undefined || batch === undefined) return
    this.#number += 1
    const place = { storedAtMs: now(), sequence: this.#number, line: 0 }
    const row = rowOf(accountId, judgement, place)
    sharedSlot.read(judgement.record.conn.client_ip)
    // Each question can be explained later, also one that came without an id.
    batch.collected.add({ ...row, recordId: row.recordId ?? newId('dq_') }, sharedSlot, weight)
    batch.added()
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    this.#count()
    for (const sampler of Object.values(this.#samplers)) sampler.flush()
    this.#watched.publish()
    await this.#logged.close()
  }
}

const noneAsked = (): Record<Decision, number> => ({ allow: 0, block: 0, deny: 0 })
