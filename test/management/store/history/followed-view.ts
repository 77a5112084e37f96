/** The part of a view that the history needs, which the test moves on. */
import type { Row } from '../../../../src/words/resource/kind/define.js'
import { ViewState } from '../../../../src/words/view/view-state.js'

export class FollowedView {
  readonly state = new ViewState()
  latest = this.state
  readonly #listeners: ((kind: string) => void)[] = []

  onChange(listener: (kind: string) => void): void {
    this.#listeners.push(listener)
  }

  /** A row of this kind came, was changed or was deleted; `*`: any. */
  touch(kind: string): void {
    for (const listener of this.#listeners) listener(kind)
  }

  /** All changes of the account up to this version are there. */
  reach(accountId: string, version: number): void {
    this.state.accounts.set(accountId, { version, stored: version, counts: {} })
  }

  put(kind: string, row: Row): void {
    this.state.apply({
      key: `row.${kind}.${row.id}`,
      revision: 1,
      value: Buffer.from(JSON.stringify(row)),
    })
  }
}
