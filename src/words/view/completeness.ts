/**
 * Does a state hold everything its bucket says it holds? If not, what does it lack?
 *
 * An account is whole if it has as many rows of each kind as its state entry says. While other processes write, some
 * account is always in the middle of a change, so each account must have been whole only once since everything was
 * read; from then on it follows the changes like any view in use.
 */
import type { Occurrences } from '../../ground/core/telemetry/occurrences.js'
import { accountOfStateKey, isEpoch, metaKey, stateKey } from './keys.js'
import type { ViewState } from './view-state.js'

export class Completeness {
  readonly #state: ViewState
  #unproven: Set<string> | undefined

  constructor(state: ViewState) {
    this.#state = state
  }

  /** Call this when everything that was in the bucket is in the state. */
  begin(): void {
    const accounts = [...this.#state.accounts.keys()]
    this.#unproven ??= new Set(accounts.filter((accountId) => !this.#state.isWhole(accountId)))
  }

  /** Call this after each key; an account's state entry is the last one of each of its changes. */
  note(key: string): void {
    const accountId = accountOfStateKey(key)
    if (accountId === undefined || this.#unproven === undefined) return
    if (this.#state.isWhole(accountId)) this.#unproven.delete(accountId)
    else this.#unproven.add(accountId)
  }

  get holds(): boolean {
    return this.holdsWithout(new Set())
  }

  /** Is it complete, apart from these accounts? */
  holdsWithout(left: ReadonlySet<string>): boolean {
    const { meta, accounts } = this.#state
    if (this.#unproven === undefined || meta === undefined) return false
    for (const accountId of this.#unproven) if (!left.has(accountId)) return false
    let size = accounts.size
    for (const accountId of left) if (!accounts.has(accountId)) size += 1
    return size >= meta.accounts
  }

  /** The missing part, as a clause; undefined if nothing is missing. */
  get lack(): string | undefined {
    if (this.#unproven === undefined) return 'the bucket is still being read'
    const ofMeta = lackOfMeta(this.#state)
    if (ofMeta !== undefined) return ofMeta
    const [first] = this.#unproven
    if (first === undefined) return undefined
    const more = this.#unproven.size - 1
    const others = more === 0 ? '' : `, and ${more} more accounts are not whole`
    return `${lackOfAccount(this.#state, first) ?? `the account ${first} was not whole yet`}${others}`
  }
}

/** The reason why a process can't use the state: the bucket's statement about itself is missing, or names more accounts. */
function lackOfMeta({ meta, accounts }: ViewState): string | undefined {
  if (meta === undefined) return `the key "${metaKey}" of the bucket is missing, which is written last`
  return accounts.size >= meta.accounts ? undefined : accountsClause(accounts.size, meta.accounts)
}

const accountsClause = (size: number, count: unknown): string =>
  `the bucket has ${size} accounts, and its key "${metaKey}" says ${String(count)}`

function lackOfAccount(state: ViewState, accountId: string): string | undefined {
  const found = state.differenceOf(accountId)
  if (found === undefined) return undefined
  const { kind, size, count } = found
  return `the account ${accountId} has ${size} rows of the kind ${kind}, and its entry says ${String(count)}`
}

const damagedClause = (key: string): string => `the entry "${key}" can't be read`

/** The fault in the bucket's statement about itself; unlike a lack, also if no process waits for it. */
export function faultOfMeta(state: ViewState): string | undefined {
  const { meta, accounts } = state
  const lack = lackOfMeta(state)
  if (lack !== undefined || meta === undefined) return lack
  if (state.damaged.has(metaKey)) return damagedClause(metaKey)
  if (meta.accounts !== accounts.size) return accountsClause(accounts.size, meta.accounts)
  return isEpoch(meta.epoch) ? undefined : `the epoch of the bucket is ${JSON.stringify(meta.epoch)}`
}

/**
 * All damaged entries of the bucket, and its wrong statements about itself, as clauses. The key of each is the entry that
 * has the statement, with its revision, so a lasting fault can be distinguished from those of changes under way.
 */
export function faultsIn(state: ViewState): ReadonlyMap<string, string> {
  const faults = new Map<string, string>()
  const add = (key: string, clause: string | undefined): void => {
    if (clause !== undefined) faults.set(`${key} ${state.revisionOf(key)}`, clause)
  }
  for (const key of state.damaged) add(key, damagedClause(key))
  add(metaKey, faultOfMeta(state))
  for (const accountId of state.accounts.keys()) add(stateKey(accountId), lackOfAccount(state, accountId))
  return faults
}

/** A configuration that stays incomplete is reported at the second look, and then at every sixth. */
const looksLeftOut = 5

/** Reports what a configuration lacks for longer. */
export class LackReports {
  readonly #occurrences: Pick<Occurrences, 'configurationIncomplete'>
  /** Since the last report; undefined if nothing is missing. */
  #looks: number | undefined

  constructor(occurrences: Pick<Occurrences, 'configurationIncomplete'>) {
    this.#occurrences = occurrences
  }

  /** To be called at each look. `lack`: what is missing, if anything is. */
  look(lack: string | undefined): void {
    if (lack === undefined) this.#looks = undefined
    else if (this.#looks === undefined) this.#looks = looksLeftOut
    else if (++this.#looks > looksLeftOut) {
      this.#looks = 0
      this.#occurrences.configurationIncomplete({ reason: lack })
    }
  }
}
