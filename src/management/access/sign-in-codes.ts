/**
 * Codes of sign-in links: each signs in once, within five minutes, on the machine that runs Weir. Only a hash is kept, in
 * the memory of the API process that made it.
 */
import { timingSafeEqual } from 'node:crypto'
import { monotonicMs, now, randomToken } from '../../ground/core/clock.js'
import { hashToken } from '../../ground/core/ids.js'
import { apiKey, isExpired, rightsOf } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { View } from '../../words/view/view.js'

/** 192 bits. */
const codeBytes = 24
export const codeLifetimeMs = 5 * 60_000
/** Codes that are valid at the same time; another one takes the place of the oldest. */
const codesMax = 100

interface MadeCode {
  readonly accountId: string
  readonly hash: Buffer
  readonly endsMs: number
}

export class SignInCodes {
  readonly #nowMs: () => number
  /** Oldest first. */
  #codes: MadeCode[] = []

  constructor(nowMs = monotonicMs) {
    this.#nowMs = nowMs
  }

  /** A new code, which signs in to this account. */
  make(accountId: string): string {
    const code = randomToken(codeBytes)
    const made = { accountId, hash: hashOf(code), endsMs: this.#nowMs() + codeLifetimeMs }
    this.#codes = [...this.#codes.filter((each) => this.#isValid(each)), made].slice(-codesMax)
    return code
  }

  /** The account that the code signs in to; undefined if it was used, is too old or was never made. It is used up. */
  use(code: string): string | undefined {
    const hash = hashOf(code)
    // Compares all of them, each in constant time.
    const found = this.#codes.filter((each) => timingSafeEqual(each.hash, hash))[0]
    if (found === undefined) return undefined
    this.#codes = this.#codes.filter((each) => each !== found)
    return this.#isValid(found) ? found.accountId : undefined
  }

  #isValid = ({ endsMs }: MadeCode): boolean => this.#nowMs() < endsMs
}

const hashOf = (code: string): Buffer => Buffer.from(hashToken(code))

const oldestFirst = (a: Row, b: Row): number => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)

/** The account that links sign in to if no other one is asked for: the oldest. */
export const firstAccountId = ({ state }: Pick<View, 'state'>): string | undefined =>
  [...(state.rows.get('account')?.values() ?? [])].toSorted(oldestFirst)[0]?.id

/** The keys that a link to this account may use, oldest first: those with all rights that have not expired. */
export const signInKeys = ({ state }: Pick<View, 'state'>, accountId: string): Row[] =>
  [...state.ids(accountId, apiKey.kind).below()]
    .flatMap((id) => state.rows.get(apiKey.kind)?.get(id) ?? [])
    .filter((key) => rightsOf(key) === null && !isExpired(key, now()))
    .toSorted(oldestFirst)
