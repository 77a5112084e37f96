import type { AccountPolicies } from '../../access/account-policies.js'
import type { ApiContext } from '../../http/context.js'
import type { FeedStatuses } from '../../scheduled/feeds/feed-status.js'
import type { ListFeeds } from '../../scheduled/feeds/list-feeds.js'
import type { IpListEntries } from '../../write/ip-list-entries.js'
import type { PolicyTests } from '../../write/policy-tests.js'
import type { Writes } from '../../write/writes.js'

/** Tools that only routes which change resources need. */
export interface WriteContext extends ApiContext {
  readonly writes: Writes
  readonly policies: AccountPolicies
  readonly policyTests: PolicyTests
  readonly listEntries: IpListEntries
  readonly feeds: Pick<ListFeeds, 'refresh' | 'preview'>
  readonly statuses: FeedStatuses
}
