/** Operations on challengers, besides those of any kind. */
import type {
  ChallengerDifference,
  ChallengerExample,
  ChallengerProgress,
} from '../shape/challenger-difference.js'
import type { LoggedDecision } from '../shape/decisions/logged-decision.js'
import { type CreateOptions, writeQuery } from './collection.js'
import { linesOf, type WatchOptions } from './decisions.js'
import type { Http } from './http.js'
import type { Resource } from './kinds.js'

/** RFC 3339, or a length of time before now such as `24h`. */
interface Range {
  readonly since?: string
  readonly until?: string
}

type Challenger = Resource<'challenger'>

const pathOf = (id: string, name: string): string => `/challengers/${encodeURIComponent(id)}/${name}`

export class ChallengerClient {
  readonly #http: Pick<Http, 'send' | 'events'>

  constructor(http: Pick<Http, 'send' | 'events'>) {
    this.#http = http
  }

  /** Makes the draft the configuration, as one write. */
  promote(id: string, options: CreateOptions = {}): Promise<Challenger> {
    return this.#act(id, 'promote', options)
  }

  /** Ends it; what is known of it stays. */
  discard(id: string, options: CreateOptions = {}): Promise<Challenger> {
    return this.#act(id, 'discard', options)
  }

  /** The difference that its draft makes, by default over all of its time. */
  async difference(id: string, range: Range = {}): Promise<ChallengerDifference> {
    return this.#http.send('GET', pathOf(id, 'difference'), { query: { ...range } })
  }

  /** How many records were compared, how long it still runs, and whether it is behind. */
  async progress(id: string): Promise<ChallengerProgress> {
    return this.#http.send('GET', pathOf(id, 'progress'))
  }

  /** Records that its draft decides differently, with both explanations. */
  async examples(id: string, range: Range = {}): Promise<ChallengerExample[]> {
    const { examples } = await this.#http.send<{ examples: ChallengerExample[] }>(
      'GET',
      pathOf(id, 'examples'),
      { query: { ...range } },
    )
    return examples
  }

  /** Decisions that its draft would make otherwise, as they happen. */
  watch(
    id: string,
    options: Pick<WatchOptions, 'signal' | 'rate'> = {},
  ): AsyncGenerator<LoggedDecision, void> {
    return linesOf(this.#http, {}, options, pathOf(id, 'live'))
  }

  async #act(id: string, action: string, options: CreateOptions): Promise<Challenger> {
    return this.#http.send('POST', pathOf(id, action), {
      query: writeQuery(options),
      idempotencyKey: options.idempotencyKey,
    })
  }
}
