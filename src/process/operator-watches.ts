/** What the API watches for operators, besides its own health: each shows in metrics, some also in events. */

import { type BehindDestinations, openBehindDestinations } from '../api/behind-destinations.js'
import { accountsIn } from '../api/dead-letter-owner.js'
import { ExpiringDeadLetters } from '../api/expiring-dead-letters.js'
import type { ReleaseStack } from '../core/release.js'
import { chosenTarget, eventDestination } from '../resource/event-destination.js'
import { RecordsLag } from './records-lag.js'
import type { RoleContext } from './role-context.js'
import type { StoreParts } from './store-parts.js'

export function openBehind(
  { settings, occurrences }: RoleContext,
  { nats, store }: StoreParts,
): Promise<BehindDestinations> {
  const targetOf = (id: string): string | undefined => {
    const row = store.view.state.rows.get(eventDestination.kind)?.get(id)
    return row === undefined ? undefined : chosenTarget(row['target'] as never).kind
  }
  const namedMax = settings.ops.metricsDestinationsMax
  return openBehindDestinations({ nats, occurrences, targetOf, namedMax })
}

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
