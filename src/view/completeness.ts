/**
 * Does a state hold everything its bucket says it holds?
 *
 * An account is whole when its rows are as many as its state says, kind by kind. While others write there is always
 * some account in the middle of a change, so each needs to have been whole once since everything was read: from then
 * on it follows the changes like any view in use.
 */
import { accountOfStateKey } from './keys.js'
import type { ViewState } from './view-state.js'

export class Completeness {
  readonly #state: ViewState
  #unproven: Set<string> | undefined

  constructor(state: ViewState) {
    this.#state = state
  }

  /** Everything that was there is in the state. */
  begin(): void {
    const accounts = [...this.#state.accounts.keys()]
    this.#unproven ??= new Set(accounts.filter((accountId) => !this.#state.isWhole(accountId)))
  }

  /** A key was taken in; an account's state is the last one of each of its changes. */
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
