/** An account as its next change must see it: nothing left to carry out, and a view that has seen every change. */
import { unavailable } from '../core/errors.js'
import type { View } from '../view/view.js'
import type { ViewState } from '../view/view-state.js'
import type { FinishedHead, Heads } from './heads.js'

export interface SettledAccount {
  readonly known: FinishedHead
  readonly state: ViewState
}

interface SettleParts {
  readonly heads: Heads
  readonly view: View
  /** Why nothing may be written now; undefined if writes are allowed. */
  readonly refusal: () => string | undefined
}

export async function settle(parts: SettleParts, accountId: string): Promise<SettledAccount> {
  const { heads, view, refusal } = parts
  for (;;) {
    const refused = refusal()
    if (refused !== undefined) throw unavailable(refused)
    const known = await heads.finished(accountId)
    await view.reached(accountId, known.seen)
    const { state } = view
    if (state.versionOf(accountId) <= known.version) return { known, state }
    // Another process committed meanwhile, or the heads were restored to an earlier state: read again to find out.
    await refuseRestored(parts, accountId, known)
  }
}

async function refuseRestored(
  { heads, view }: SettleParts,
  accountId: string,
  known: FinishedHead,
): Promise<void> {
  const again = await heads.finished(accountId)
  if (again.version <= known.version && view.state.versionOf(accountId) > again.version)
    throw unavailable(
      'The data in NATS is older than before; it is being brought up to date from ClickHouse.',
    )
}
