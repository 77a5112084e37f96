/** Raises an account's version, so that changes prepared for this version or an earlier one can't be committed. */
import { now } from '../core/clock.js'
import { newId } from '../core/ids.js'
import type { View } from '../view/view.js'
import type { ViewState } from '../view/view-state.js'
import { emptyChange } from './change.js'
import type { FinishedHead, Heads } from './heads.js'

interface AccountParts {
  readonly heads: Heads
  readonly view: View
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
  await heads.commit(accountId, known, version, {
    ...emptyChange,
    id: newId('chg_'),
    at: now(),
    counts,
    stored,
  })
}

/** Resolves with the account's state at this version or a later one. */
export async function moveBeyond(
  parts: AccountParts,
  accountId: string,
  version: number,
): Promise<ViewState> {
  const { heads, view } = parts
  for (;;) {
    const known = await heads.finished(accountId)
    await view.reached(accountId, known.seen)
    if (known.version >= version) return view.state
    await commitNothing(parts, accountId, known, version)
  }
}
