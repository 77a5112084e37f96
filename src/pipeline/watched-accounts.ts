/** The accounts whose decisions someone watches, as the API says. A watcher that is gone is forgotten after a while. */
import { monotonicMs } from '../core/clock.js'
import { watchedAccountsMax, watchedForMs } from '../core/limits.js'

export class WatchedAccounts {
  readonly #untilMs = new Map<string, number>()
  readonly #nowMs: () => number

  constructor(nowMs = monotonicMs) {
    this.#nowMs = nowMs
  }

  /** A message of the API; anything else is ignored, since nothing depends on it. */
  receive(data: Uint8Array): void {
    for (const accountId of accountsIn(data)) {
      if (this.#untilMs.size >= watchedAccountsMax) this.#untilMs.clear()
      this.#untilMs.set(accountId, this.#nowMs() + watchedForMs)
    }
  }

  has(accountId: string): boolean {
    if (this.#untilMs.size === 0) return false
    const untilMs = this.#untilMs.get(accountId)
    if (untilMs === undefined) return false
    if (untilMs > this.#nowMs()) return true
    this.#untilMs.delete(accountId)
    return false
  }
}

function accountsIn(data: Uint8Array): readonly string[] {
  try {
    const { accounts } = JSON.parse(Buffer.from(data).toString()) as { accounts?: unknown }
    return Array.isArray(accounts) ? accounts.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}
