/**
 * Bounds on what is done at the same time. The rate limit counts requests; it does not help if one request costs as much
 * as thousands of others. An operation names its bound in its description (`atOnce`); a request with a large body has
 * one whatever its operation is.
 *
 * Each API process counts by itself, because it learns too late about the others. A refusal comes before the body is
 * read, and says when to try again.
 *
 * Reads wait for a place: a page that asks several questions and is loaded again takes more places than a person at it has
 * windows, because the store goes on with what no one waits for any more.
 */
import { after } from '../../../ground/core/clock.js'
import { ClientGone, TooManyAtOnce } from '../../../ground/core/errors.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'

interface AtOnceBound {
  /** The requests that are counted, in words. */
  readonly what: string
  readonly perAccount: number
  /** For all accounts together. It is more than one account is allowed. */
  readonly perProcess: number
  /** About as long as one such request takes. */
  readonly retryAfterSeconds: number
  /** The words for those that `perAccount` bounds; default: accounts. */
  readonly each?: { readonly one: string; readonly all: string }
  /** As many as are served wait for a place, at most `patienceMs`. Default: further ones are refused at once. */
  readonly waits?: true
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
  batch: { what: 'batches of changes', perAccount: 2, perProcess: 8, retryAfterSeconds: 2 },
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
    waits: true,
    parameters: ['filter', 'description'],
  },
  history: { what: 'pages of changes', perAccount: 10, perProcess: 50, retryAfterSeconds: 2, waits: true },
  log_search: {
    what: 'searches of the log: `GET /decisions`, `/stats`, `/records`, `/expression_failures` and `…/last_traffic`',
    perAccount: 10,
    perProcess: 50,
    retryAfterSeconds: 2,
    waits: true,
  },
  dead_letters: {
    what: 'searches of dead letters, and changes of many',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
    waits: true,
  },
  past_decision: {
    what: 'decisions with `revision`',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
    waits: true,
    parameters: ['revision'],
  },
  destination_call: {
    what: 'test events and checks of destinations',
    perAccount: 4,
    perProcess: 16,
    retryAfterSeconds: 2,
  },
  // Those of an account share a search (`api/log/finding-routes.ts`).
  findings: {
    what: 'searches for findings',
    perAccount: 4,
    perProcess: 8,
    retryAfterSeconds: 2,
    waits: true,
  },
  // Their answers are ready: this keeps those that read slowly from taking every connection of the process.
  open_page: {
    what: 'requests for pages that need no key',
    perAccount: 50,
    perProcess: 200,
    retryAfterSeconds: 1,
    each: { one: 'an address', all: 'all addresses' },
  },
  // They share a look, and wait for it as long as a source hangs.
  doctor: { what: 'looks at the deployment', perAccount: 4, perProcess: 8, retryAfterSeconds: 5 },
  overview: { what: 'overviews', perAccount: 10, perProcess: 50, retryAfterSeconds: 1, waits: true },
  destination_status: {
    what: 'questions for the status or the attempts of destinations',
    perAccount: 10,
    perProcess: 50,
    retryAfterSeconds: 2,
    waits: true,
  },
} as const satisfies Readonly<Record<string, AtOnceBound>>

export type BoundName = keyof typeof bounds

export const boundsAtOnce: Readonly<Record<BoundName, AtOnceBound>> = bounds

const accounts = { one: 'an account', all: 'all accounts' }

/** How long a request waits for a place. */
export const patienceMs = 5_000

/** The sentence about a bound in the description of an operation. */
export function boundSentence(name: BoundName): string {
  const { what, perAccount, perProcess, waits } = boundsAtOnce[name]
  const others = waits
    ? `as many more wait for their turn, up to ${patienceMs / 1000} s; it answers the others`
    : 'it answers further ones'
  return `An API process serves at most ${perProcess} ${what} at the same time, ${perAccount} of one account; ${others} with 503 and \`Retry-After\`.`
}

type Release = () => void

interface Waiter {
  readonly caller: string
  /** Is called once, when the waiter has its place. */
  readonly admit: (release: Release) => void
}

export class AtOnce {
  readonly #counts = new Map<string, number>()
  readonly #waiting = new Map<BoundName, Set<Waiter>>()
  readonly #occurrences: Pick<Occurrences, 'requestRefusedAtOnce'>

  constructor(occurrences: Pick<Occurrences, 'requestRefusedAtOnce'>) {
    this.#occurrences = occurrences
  }

  /**
   * Counts one more until the result is called. Throws a `WeirError` if it would be one too many. `caller`: an account's id,
   * or what the bound names as `each`.
   */
  take(name: BoundName, caller: string): Release {
    const full = this.#fullScope(name, caller)
    if (full !== undefined) throw this.#refusal(name, full)
    const ofAccount = `${name} ${caller}`
    this.#add(ofAccount, 1)
    this.#add(name, 1)
    return () => {
      this.#add(ofAccount, -1)
      this.#add(name, -1)
      this.#admitNext(name)
    }
  }

  /** The same, after a wait if the bound allows for one. Rejects with `ClientGone` once `signal` is aborted. */
  takeInTurn(name: BoundName, caller: string, signal: AbortSignal): Release | Promise<Release> {
    if (!boundsAtOnce[name].waits || this.#fullScope(name, caller) === undefined)
      return this.take(name, caller)
    const waiting = this.#waiting.get(name) ?? new Set()
    const ofCaller = [...waiting].filter((each) => each.caller === caller).length
    const { perAccount, perProcess } = boundsAtOnce[name]
    if (ofCaller >= perAccount) throw this.#refusal(name, 'account')
    if (waiting.size >= perProcess) throw this.#refusal(name, 'process')
    this.#waiting.set(name, waiting)
    return this.#turn(name, caller, signal, waiting)
  }

  #turn(name: BoundName, caller: string, signal: AbortSignal, waiting: Set<Waiter>): Promise<Release> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        timer.stop()
        signal.removeEventListener('abort', gone)
        waiting.delete(waiter)
      }
      const waiter: Waiter = {
        caller,
        admit: (release) => {
          leave()
          resolve(release)
        },
      }
      const gone = (): void => {
        leave()
        reject(new ClientGone())
      }
      const timer = after(patienceMs, () => {
        leave()
        reject(this.#refusal(name, this.#fullScope(name, caller) ?? 'account'))
      })
      if (signal.aborted) return gone()
      signal.addEventListener('abort', gone, { once: true })
      waiting.add(waiter)
    })
  }

  /** The one that has waited longest, of those whose account has a place. */
  #admitNext(name: BoundName): void {
    for (const { caller, admit } of this.#waiting.get(name) ?? []) {
      if (this.#fullScope(name, caller) !== undefined) continue
      admit(this.take(name, caller))
      return
    }
  }

  /** Whose places are all taken; undefined if one is free. */
  #fullScope(name: BoundName, caller: string): 'account' | 'process' | undefined {
    const { perAccount, perProcess } = boundsAtOnce[name]
    if (this.#countOf(`${name} ${caller}`) >= perAccount) return 'account'
    return this.#countOf(name) >= perProcess ? 'process' : undefined
  }

  #countOf(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  #add(key: string, change: 1 | -1): void {
    const count = this.#countOf(key) + change
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }

  #refusal(name: BoundName, scope: 'account' | 'process'): TooManyAtOnce {
    const { what, perAccount, perProcess, retryAfterSeconds, each = accounts } = boundsAtOnce[name]
    this.#occurrences.requestRefusedAtOnce({ bound: name, scope })
    const [max, whose] = scope === 'account' ? [perAccount, each.one] : [perProcess, each.all]
    return new TooManyAtOnce(
      `Too many ${what} at the same time: at most ${max} of ${whose} are served. Try again in ${retryAfterSeconds} s.`,
      retryAfterSeconds,
    )
  }
}
