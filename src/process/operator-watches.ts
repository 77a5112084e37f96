/** What the API watches for operators, besides its own health: each shows in metrics, some also in events. */
import { accountsIn } from '../api/dead-letter-owner.js'
import { ExpiringDeadLetters } from '../api/expiring-dead-letters.js'
import type { ReleaseStack } from '../core/release.js'
import { RecordsLag } from './records-lag.js'
import type { RoleContext } from './role-context.js'
import type { StoreParts } from './store-parts.js'

export function openOperatorWatches(
  { settings, occurrences }: RoleContext,
  { nats, store, presenter }: StoreParts,
  release: ReleaseStack,
): void {
  release.own(new RecordsLag(nats, occurrences))
  const { retentionMs } = settings.nats
  const { view } = store
  const accountOf = accountsIn(() => view.state)
  const isAccount = (id: string): boolean => view.state.accounts.has(id)
  const { links } = presenter
  release.own(new ExpiringDeadLetters({ nats, accountOf, isAccount, links, retentionMs, occurrences }))
}
