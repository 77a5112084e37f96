/** An account as its next change must see it: nothing left to carry out, and a view that has seen every change. */
import { unavailable } from '../../../ground/core/errors.js'
import type { View } from '../../../words/view/view.js'
import type { ViewState } from '../../../words/view/view-state.js'
import { newChange } from './change.js'
import type { FinishedHead, Heads } from './heads.js'
import { beforeCommit } from './outcome.js'

export interface AccountParts {
  readonly heads: Heads
  readonly view: View
}

export interface SettledAccount {
  readonly known: FinishedHead
  readonly state: ViewState
}

/** The account's head, once its change is carried out and the view has seen it. */
export async function caughtUp({ heads, view }: AccountParts, accountId: string): Promise<FinishedHead> {
  const known = await heads.finished(accountId)
  await view.reached(accountId, known.seen)
  return known
}

/** `refusal`: why nothing may be written now; undefined if writes are allowed. Its caller has written nothing yet. */
export const settle = (
  parts: AccountParts,
  refusal: () => string | undefined,
  accountId: string,
): Promise<SettledAccount> => beforeCommit(() => settled(parts, refusal, accountId))

async function settled(
  parts: AccountParts,
  refusal: () => string | undefined,
  accountId: string,
): Promise<SettledAccount> {
  const { heads, view } = parts
  for (;;) {
    const refused = refusal()
    if (refused !== undefined) throw unavailable(refused)
    view.checkServed(accountId)
    const known = await caughtUp(parts, accountId)
    const { state } = view
    if (state.versionOf(accountId) <= known.version) return { known, state }
    // Another process committed meanwhile, or the heads were restored to an earlier state: read again to find out.
    const again = await heads.finished(accountId)
    if (again.version <= known.version && view.state.versionOf(accountId) > again.version)
      throw unavailable(
        'The data in NATS is older than before; it is being brought up to date from ClickHouse.',
      )
  }
}

/** Commits an empty change as this version, unless another writer commits first. */
export async function commitNothing(
  { heads, view }: AccountParts,
  accountId: string,
  known: FinishedHead,
  version: number,
): Promise<void> {
  const { stored = 0 } = view.state.accounts.get(accountId) ?? {}
  const counts = view.state.countsOf(accountId)
  await heads.commit(accountId, known, [newChange({ counts, stored })], version)
}

/**
 * Raises the account's version, so that changes prepared for this version or an earlier one can't be committed.
 * Resolves with the account's state at this version or a later one.
 */
export async function moveBeyond(
  parts: AccountParts,
  accountId: string,
  version: number,
): Promise<ViewState> {
  for (;;) {
    const known = await caughtUp(parts, accountId)
    if (known.version >= version) return parts.view.state
    await commitNothing(parts, accountId, known, version)
  }
}
