/**
 * Bounds on what is done at the same time. The rate limit counts requests; it does not help if one request costs as much
 * as thousands of others. An operation names its bound in its description (`atOnce`); a request with a large body has
 * one whatever its operation is.
 *
 * Each API process counts by itself, because it learns too late about the others. A refusal comes before the body is
 * read, and says when to try again.
 */
import { TooManyAtOnce } from '../../core/errors.js'
import type { Occurrences } from '../../core/telemetry/occurrences.js'

interface AtOnceBound {
  /** The requests that are counted, in words. */
  readonly what: string
  readonly perAccount: number
  /** For all accounts together. It is more than one account is allowed. */
  readonly perProcess: number
  /** About as long as one such request takes. */
  readonly retryAfterSeconds: number
  /** What `perAccount` is for; default: accounts. */
  readonly each?: { readonly one: string; readonly all: string }
  /** Only requests with one of these query parameters are counted; default: all. */
  readonly parameters?: readonly string[]
}

const bounds = {
  large_body: {
    what: 'requests with a body of more than 256 KiB',
    perAccount: 1,
    perProcess: 2,
    retryAfterSeconds: 5,
  },
  publish: { what: 'requests that publish records', perAccount: 4, perProcess: 12, retryAfterSeconds: 1 },
  rules_restore: { what: 'restorations of rules', perAccount: 1, perProcess: 4, retryAfterSeconds: 5 },
  list_entries: {
    what: 'replacements of the entries of IP lists',
    perAccount: 1,
    perProcess: 2,
    retryAfterSeconds: 5,
  },
  list_entries_read: {
    what: 'pages of entries of IP lists',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 1,
  },
  list_refresh: {
    what: 'fetches of IP lists from their sources',
    perAccount: 2,
    perProcess: 8,
    retryAfterSeconds: 5,
  },
  draft: {
    what: 'drafts to try',
    perAccount: 2,
    perProcess: 8,
    retryAfterSeconds: 2,
  },
  list_search: {
    what: 'lists with `filter` or `description`',
    perAccount: 10,
    perProcess: 50,
    retryAfterSeconds: 2,
    parameters: ['filter', 'description'],
  },
  history: { what: 'pages of changes', perAccount: 10, perProcess: 50, retryAfterSeconds: 2 },
  log_search: {
    what: 'searches of the log: `GET /decisions`, `/stats`, `/records`, `/expression_failures` and `…/last_traffic`',
    perAccount: 10,
    perProcess: 50,
    retryAfterSeconds: 2,
  },
  dead_letters: {
    what: 'searches of dead letters, and changes of many',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
  },
  past_decision: {
    what: 'decisions with `revision`',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
    parameters: ['revision'],
  },
  destination_call: {
    what: 'test events and checks of destinations',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
  },
  // Those of an account share a search (`api/log/finding-routes.ts`).
  findings: { what: 'searches for findings', perAccount: 4, perProcess: 8, retryAfterSeconds: 2 },
  // Their answers are ready: this keeps those that read slowly from taking every connection of the process.
  open_page: {
    what: 'requests for pages that need no key',
    perAccount: 50,
    perProcess: 200,
    retryAfterSeconds: 1,
    each: { one: 'an address', all: 'all addresses' },
  },
  overview: { what: 'overviews', perAccount: 10, perProcess: 50, retryAfterSeconds: 1 },
  destination_status: {
    what: 'questions for the status or the attempts of destinations',
    perAccount: 10,
    perProcess: 50,
    retryAfterSeconds: 2,
  },
} as const satisfies Readonly<Record<string, AtOnceBound>>

export type BoundName = keyof typeof bounds

export const boundsAtOnce: Readonly<Record<BoundName, AtOnceBound>> = bounds

const accounts = { one: 'an account', all: 'all accounts' }

/** The sentence about a bound in the description of an operation. */
export function boundSentence(name: BoundName): string {
  const { what, perAccount, perProcess } = boundsAtOnce[name]
  return `An API process serves at most ${perProcess} ${what} at the same time, ${perAccount} of one account; it answers further ones with 503 and \`Retry-After\`.`
}

export class AtOnce {
  readonly #counts = new Map<string, number>()
  readonly #occurrences: Pick<Occurrences, 'requestRefusedAtOnce'>

  constructor(occurrences: Pick<Occurrences, 'requestRefusedAtOnce'>) {
    this.#occurrences = occurrences
  }

  /**
   * Counts one more until the result is called. Throws a `WeirError` if it would be one too many. `caller`: an account's id, or what
   * the bound names as `each`.
   */
  take(name: BoundName, caller: string): () => void {
    const { perAccount, perProcess } = boundsAtOnce[name]
    const ofAccount = `${name} ${caller}`
    if (this.#countOf(ofAccount) >= perAccount) throw this.#refusal(name, 'account', perAccount)
    if (this.#countOf(name) >= perProcess) throw this.#refusal(name, 'process', perProcess)
    this.#add(ofAccount, 1)
    this.#add(name, 1)
    return () => {
      this.#add(ofAccount, -1)
      this.#add(name, -1)
    }
  }

  #countOf(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  #add(key: string, change: 1 | -1): void {
    const count = this.#countOf(key) + change
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }

  #refusal(name: BoundName, scope: 'account' | 'process', max: number): TooManyAtOnce {
    const { what, retryAfterSeconds, each = accounts } = boundsAtOnce[name]
    this.#occurrences.requestRefusedAtOnce({ bound: name, scope })
    const whose = `of ${scope === 'account' ? each.one : each.all}`
    return new TooManyAtOnce(
      `Too many ${what} at the same time: at most ${max} ${whose} are served. Try again in ${retryAfterSeconds} s.`,
      retryAfterSeconds,
    )
  }
}
