/** The compiled subscriptions of one account, as they are or as they were. */
import { yieldTurn } from '../core/clock.js'
import type { ConfigurationSource } from '../evaluate/policy-source.js'
import type { AnyTrafficEvent } from '../event/define.js'
import { rowsOf } from '../http/present.js'
import type { AccountSources } from '../produce/source-list.js'
import { buildSubscriptionSet } from '../produce/subscriptions.js'
import type { DeclaredRow, KindName } from '../resource/registry.js'
import type { PastRows } from '../store/history/past-rows.js'
import type { ViewState } from '../view/view-state.js'

type Subscription = DeclaredRow<'event_subscription'>

/** `pastVersion`: a version of the account; undefined for the present configuration. */
export async function accountSources(
  state: ViewState,
  accountId: string,
  pastVersion: number | undefined,
  pastRows: Pick<PastRows, 'subscriptionIds' | 'at'>,
  eventKinds: readonly AnyTrafficEvent[],
): Promise<AccountSources | undefined> {
  const rows =
    pastVersion === undefined
      ? ([...rowsOf(state, accountId, 'event_subscription')] as unknown[] as Subscription[])
      : await rowsAt(accountId, pastVersion, pastRows)
  const source: ConfigurationSource = {
    revision: 0,
    rowsOf: <Kind extends KindName>() => rows as Iterable<unknown> as Iterable<DeclaredRow<Kind>>,
    rules: () => undefined,
  }
  const { byAccount } = await buildSubscriptionSet(source, undefined, yieldTurn, eventKinds)
  return byAccount.get(accountId)
}

async function rowsAt(
  accountId: string,
  version: number,
  pastRows: Pick<PastRows, 'subscriptionIds' | 'at'>,
): Promise<Subscription[]> {
  const ids = await pastRows.subscriptionIds(accountId, version)
  return pastRows.at(accountId, version, 'event_subscription', 'id', ids)
}
