/** Dead letters of the account. */
import type { DeadLetter, DeadLetterBatch, DeadLetterGroups, WholeDeadLetter } from '../shape/dead-letter.js'
import type { Http } from './http.js'

/** A selection of letters; all of them by default. */
export interface DeadLetterSelection {
  readonly type?: DeadLetter['type'] | undefined
  /** The whole reason; `…` stands for any text. */
  readonly reason?: string | undefined
  readonly destinationId?: string | undefined
  /** Set aside at this time (RFC 3339) or later; or a length of time before now, such as `24h`. */
  readonly since?: string | undefined
  /** Set aside before this time; like `since`. */
  readonly until?: string | undefined
}

export interface DeadLetterListOptions extends DeadLetterSelection {
  /** Letters in a page: 1 to 100. */
  readonly limit?: number
}

/** The outcome for the letters; `refusals` are the first of those that can't be sent again. */
export type DeadLetterTotals = Omit<DeadLetterBatch, 'next_before_id'>

const refusalsKept = 10

interface Page {
  readonly dead_letters: readonly DeadLetter[]
  readonly next_page_uri: string | null
}

const path = '/dead_letters'

const pathOf = (id: string): string => `${path}/${encodeURIComponent(id)}`

const selected = ({ destinationId, ...others }: DeadLetterListOptions) => ({
  ...others,
  destination_id: destinationId,
})

export class DeadLetterClient {
  readonly #http: Pick<Http, 'send'>

  constructor(http: Pick<Http, 'send'>) {
    this.#http = http
  }

  /** The newest first; pages are fetched as they are needed. */
  async *list(options: DeadLetterListOptions = {}): AsyncGenerator<DeadLetter, void, undefined> {
    for (let before_id: string | undefined; ; ) {
      const query = { ...selected(options), before_id }
      const page = await this.#http.send<Page>('GET', path, { query })
      yield* page.dead_letters
      if (page.next_page_uri === null) return
      // The URI may have a base that this client can't reach, so only its position is used.
      before_id = new URL(page.next_page_uri).searchParams.get('before_id') ?? undefined
    }
  }

  /** Counts by type, reason and destination. */
  async groups(options: DeadLetterSelection = {}): Promise<DeadLetterGroups> {
    return this.#http.send('GET', `${path}/groups`, { query: selected(options) })
  }

  /** A letter with its bytes and the place that its reason names. */
  async get(id: string): Promise<WholeDeadLetter> {
    return this.#http.send('GET', pathOf(id))
  }

  /** An event to its destination, a record through the pipeline; `record`: corrected. */
  async resend(id: string, record?: object): Promise<void> {
    await this.#http.send('POST', `${pathOf(id)}/resend`, { body: record === undefined ? {} : { record } })
  }

  async drop(id: string): Promise<void> {
    await this.#http.send('DELETE', pathOf(id))
  }

  /** All that are selected, in as many requests as it takes; `progress` is called after each. */
  resendAll(selection: DeadLetterSelection, progress?: (done: DeadLetterTotals) => void) {
    return this.#all('resend', selection, progress)
  }

  dropAll(selection: DeadLetterSelection, progress?: (done: DeadLetterTotals) => void) {
    return this.#all('drop', selection, progress)
  }

  async #all(
    verb: 'resend' | 'drop',
    selection: DeadLetterSelection,
    progress: (done: DeadLetterTotals) => void = () => {},
  ): Promise<DeadLetterTotals> {
    const totals = { done: 0, refused: 0, refusals: [] as DeadLetterBatch['refusals'] }
    for (let before_id: string | undefined; ; ) {
      const body = { ...selected(selection), before_id }
      const batch = await this.#http.send<DeadLetterBatch>('POST', `${path}/${verb}`, { body })
      totals.done += batch.done
      totals.refused += batch.refused
      totals.refusals = [...totals.refusals, ...batch.refusals].slice(0, refusalsKept)
      progress(totals)
      if (batch.next_before_id === null) return totals
      before_id = batch.next_before_id
    }
  }
}
