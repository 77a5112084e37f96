/** Rights of accounts, which operators grant. */
import { WeirError } from '../../ground/core/errors.js'
import type { AccountRight, AnyResource } from '../../words/resource/kind/define.js'
import type { ViewState } from '../../words/view/view-state.js'

type Accounts = Pick<ViewState, 'rows'>

export const accountRightsOf = ({ rows }: Accounts, accountId: string): readonly string[] =>
  (rows.get('account')?.get(accountId)?.['rights'] ?? []) as readonly string[]

/** Does the account have the right that a kind needs? No one sees internal kinds. */
export function maySee(accounts: Accounts, accountId: string, { right, isInternal }: AnyResource): boolean {
  if (isInternal) return false
  return right === undefined || accountRightsOf(accounts, accountId).includes(right)
}

/** Throws if the account lacks the right. */
export function checkAccountRight(accounts: Accounts, accountId: string, right: AccountRight): void {
  if (accountRightsOf(accounts, accountId).includes(right)) return
  throw new WeirError(
    'ERR_FORBIDDEN',
    `The account ${accountId} lacks the right "${right}", which an operator grants.`,
  )
}
