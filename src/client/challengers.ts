/** What may be done with challengers besides the operations of any kind. */
import { type CreateOptions, writeQuery } from './collection.js'
import type { Http } from './http.js'
import type { Resource } from './kinds.js'

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

  async #act(id: string, action: string, options: CreateOptions): Promise<Challenger> {
    return this.#http.send('POST', `/challengers/${encodeURIComponent(id)}/${action}`, {
      query: writeQuery(options),
      idempotencyKey: options.idempotencyKey,
    })
  }
}
