/**
 * Does a state hold everything its bucket says it holds?
 *
 * An account is whole if it has as many rows of each kind as its state entry says. While other processes write, some
 * account is always in the middle of a change, so each account must have been whole only once since everything was
 * read; from then on it follows the changes like any view in use.
 */
import { accountOfStateKey } from './keys.js'
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
    const { meta, accounts } = this.#state
    return this.#unproven?.size === 0 && meta !== undefined && accounts.size >= meta.accounts
  }
}
