/** What may be done with challengers besides the operations of any kind. */
import type { ChallengerDifference } from '../shape/challenger-difference.js'
import { type CreateOptions, writeQuery } from './collection.js'
import type { Http } from './http.js'
import type { Resource } from './kinds.js'

/** RFC 3339, or a length of time before now such as `24h`. */
interface Range {
  readonly since?: string
  readonly until?: string
}

type Challenger = Resource<'challenger'>

export class ChallengerClient {
  readonly #http: Pick<Http, 'send'>

  constructor(http: Pick<Http, 'send'>) {
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

  /** What its draft decides differently, by default over all of its time. */
  async difference(id: string, range: Range = {}): Promise<ChallengerDifference> {
    return this.#http.send('GET', `/challengers/${encodeURIComponent(id)}/difference`, {
      query: { ...range },
    })
  }

  async #act(id: string, action: string, options: CreateOptions): Promise<Challenger> {
    return this.#http.send('POST', `/challengers/${encodeURIComponent(id)}/${action}`, {
      query: writeQuery(options),
      idempotencyKey: options.idempotencyKey,
    })
  }
}
