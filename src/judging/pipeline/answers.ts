/** Counts and logs answers to ingress nodes, proxies and tunnel servers, and shows them live. */

import { SourcedRows } from '../../delivery/wire/decision-rows.js'
import { isLogged, type LogMode, LogPublisher, RowBatch } from '../../delivery/wire/log-publisher.js'
import { decisionRowsSubject, watchedRowsSubject } from '../../delivery/wire/names.js'
import { Watched } from '../../delivery/wire/watched.js'
import { after, now, randomFraction, type Timer } from '../../ground/core/clock.js'
import { newId } from '../../ground/core/ids.js'
import { Sampler } from '../../ground/core/sampler.js'
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import type { Nats } from '../../ground/nats/nats.js'
import type { Decision } from '../../words/event/define.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { AgentWatch } from '../evaluate/reply.js'
import { type DecisionLogOptions, rowOf } from './decision-log.js'
import { FailureLog } from './failure-log.js'
import { FailureReports, failureCountsOf } from './failure-reports.js'

interface AskedLogOptions extends DecisionLogOptions {
  readonly occurrences: Pick<Occurrences, 'decisionRowsLost' | 'decisionAsked'>
}

/**
 * Rows per second of one account, so that a flood of one account, or of allowed connections, hides nothing else. A row costs
 * a process as much as two or three answers, and ClickHouse some hundredths of a core at a thousand per second. Allowed
 * connections are the most frequent and are looked up rarely.
 */
export const askedRowsPerSecondMax: Readonly<Record<Decision, number>> = {
  allow: 100,
  block: 1_000,
  deny: 1_000,
}
/** Decisions that wait for their rows at most, and how long. */
const waitingMax = 1_000
const waitingMaxMs = 1_000
/** Ids of two processes never meet: each numbers its questions from a random number on. */
const firstNumberMax = 2 ** 48

interface Sampled {
  readonly judgement: Judgement
  /** How many questions it stands for. */
  readonly weight: number
  readonly askedAtMs: number
}

/**
 * Rows of decisions that ingress nodes and proxies ask for, for the decision log and for watchers. An answer never waits for
 * its row: counters and rows are written together, once a second, in a fraction of the time that writing after each answer
 * would take. Above a rate, one row stands for several questions.
 */
export class AskedLog {
  readonly #options: AskedLogOptions
  readonly #samplers: Readonly<Record<Decision, Sampler<Judgement>>>
  readonly #logged: LogPublisher<SourcedRows>
  readonly #watched: RowBatch<SourcedRows>
  #number = Math.floor(randomFraction() * firstNumberMax)
  /** Decisions that no counter has yet. */
  #asked = noneAsked()
  /** Decisions that have no row yet. */
  #waiting: Sampled[] = []
  #due: Timer | undefined

  constructor(options: AskedLogOptions) {
    this.#options = options
    const sampler = (perSecondMax: number) =>
      new Sampler<Judgement>({
        perSecondMax,
        take: (judgement, weight) => this.#take(judgement, weight),
      })
    const { allow, block, deny } = askedRowsPerSecondMax
    this.#samplers = { allow: sampler(allow), block: sampler(block), deny: sampler(deny) }
    this.#logged = new LogPublisher({
      ...options,
      rows: new SourcedRows('asked'),
      subject: decisionRowsSubject,
    })
    this.#watched = new RowBatch(new SourcedRows('asked'), (data) =>
      options.nats.emit(watchedRowsSubject, data),
    )
  }

  /** Counts a decision. A question that no account is known for has no row. */
  add(judgement: Judgement): void {
    const { decision, endpoint } = judgement
    const { accountId } = endpoint
    this.#asked[decision] += 1
    this.#due ??= after(waitingMaxMs, () => this.#write())
    if (accountId === undefined || this.#batchFor(accountId, judgement) === undefined) return
    this.#samplers[decision].add(accountId, judgement)
  }

  #batchFor(accountId: string, { decision }: Judgement): RowBatch<SourcedRows> | undefined {
    const { mode, watched } = this.#options
    if (isLogged(mode, decision !== 'allow')) return this.#logged.batch
    return watched.has(accountId) ? this.#watched : undefined
  }

  #take(judgement: Judgement, weight: number): void {
    this.#waiting.push({ judgement, weight, askedAtMs: now() })
    if (this.#waiting.length >= waitingMax) this.#write()
    else this.#due ??= after(waitingMaxMs, () => this.#write())
  }

  #write(): void {
    this.#due?.stop()
    this.#due = undefined
    for (const [decision, count] of Object.entries(this.#asked))
      if (count > 0) this.#options.occurrences.decisionAsked({ decision }, count)
    this.#asked = noneAsked()
    for (const sampled of this.#waiting) this.#writeRow(sampled)
    this.#waiting = []
    this.#logged.batch.publish()
    this.#watched.publish()
  }

  #writeRow({ judgement, weight, askedAtMs }: Sampled): void {
    const { accountId } = judgement.endpoint
    const batch = accountId === undefined ? undefined : this.#batchFor(accountId, judgement)
    if (accountId === undefined || batch === undefined) return
    this.#number += 1
    const row = rowOf(accountId, judgement, {
      storedAtMs: askedAtMs,
      partition: 0,
      sequence: this.#number,
      line: 0,
    })
    // Each question can be explained later, also one that came without an id.
    batch.collected.add({ ...row, recordId: row.recordId ?? newId('dq_') }, judgement.client, weight)
    batch.added()
  }

  /** Publishes what is left; waits for batches under way. */
  async close(): Promise<void> {
    for (const sampler of Object.values(this.#samplers)) sampler.flush()
    this.#write()
    await this.#logged.close()
  }
}

const noneAsked = (): Record<Decision, number> => ({ allow: 0, block: 0, deny: 0 })

interface AnswersOptions {
  readonly nats: Pick<Nats, 'publish' | 'emit' | 'subscribe'>
  readonly mode: LogMode
  readonly occurrences: Occurrences
}

export class Answers {
  readonly #reports: FailureReports
  readonly #failures: FailureLog
  readonly #log: AskedLog
  readonly #listening: { close(): void }
  /** For `decideAgent`. */
  readonly agents: Omit<AgentWatch, 'used'>

  constructor({ nats, mode, occurrences }: AnswersOptions) {
    const watched = new Watched('accounts')
    this.#listening = watched.listen(nats, occurrences)
    this.#reports = new FailureReports(occurrences, 'decision')
    this.#failures = new FailureLog({ nats, mode, occurrences })
    this.#log = new AskedLog({ nats, mode, watched, occurrences })
    this.agents = {
      warned: ({ restrictionId }) =>
        this.#reports.add({
          policyFailures: [],
          filterFailures: [],
          shadows: [],
          warnings: [{ restriction_id: restrictionId, count: 1 }],
        }),
      decided: (decision) => occurrences.agentAsked({ decision }),
    }
  }

  /** Called with each decision before its answer is sent. */
  readonly noted = (judgement: Judgement): void => {
    const counts = failureCountsOf(judgement)
    this.#reports.add(counts)
    this.#failures.add(counts, now())
    this.#log.add(judgement)
  }

  async close(): Promise<void> {
    this.#listening.close()
    this.#reports.close()
    await Promise.all([this.#log.close(), this.#failures.close()])
  }
}
