/** Moves an account's version on: what was prepared for it, or for one before it, can't be committed any more. */
import { now } from '../core/clock.js'
import { newId } from '../core/ids.js'
import type { View } from '../view/view.js'
import type { ViewState } from '../view/view-state.js'
import { emptyChange } from './change.js'
import type { FinishedHead, Heads } from './heads.js'

export interface AccountParts {
  readonly heads: Heads
  readonly view: View
}

/** Commits a change that does nothing as this version, unless somebody else commits first. */
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

/** The account's state when it has this version, or a later one. */
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
