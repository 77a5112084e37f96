/** Counts and logs answers to ingress nodes, proxies and tunnel servers, and shows them live. */
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { AgentWatch } from '../evaluate/decide.js'
import type { Judgement } from '../evaluate/judgement.js'
import type { Nats } from '../nats/nats.js'
import type { LogMode } from '../wire/log-publisher.js'
import { Watched } from '../wire/watched.js'
import { AskedLog } from './asked-log.js'
import { FailureReports, failureCountsOf } from './failure-reports.js'

interface AnswersOptions {
  readonly nats: Pick<Nats, 'publish' | 'emit' | 'subscribe'>
  readonly mode: LogMode
  readonly occurrences: Occurrences
}

export class Answers {
  readonly #reports: FailureReports
  readonly #log: AskedLog
  readonly #listening: { close(): void }
  /** For `decideAgent`. */
  readonly agents: AgentWatch

  constructor({ nats, mode, occurrences }: AnswersOptions) {
    const watched = new Watched('accounts')
    this.#listening = watched.listen(nats, occurrences)
    this.#reports = new FailureReports(occurrences, 'decision')
    this.#log = new AskedLog({ nats, mode, watched, occurrences })
    this.agents = {
      warned: (warning) => this.#reports.add(failureCountsOf({ failures: [], warnings: [warning] })),
      decided: (decision) => occurrences.agentAsked({ decision }),
    }
  }

  /** Called with each decision before its answer is sent. */
  readonly noted = (judgement: Judgement): void => {
    this.#reports.add(failureCountsOf(judgement.verdict))
    this.#log.add(judgement)
  }

  async close(): Promise<void> {
    this.#listening.close()
    this.#reports.close()
    await this.#log.close()
  }
}
