/** Watches of the API for operators, besides its own health: each shows in metrics, some also in events. */

import type { BooksKeeper } from '../delivery/books/keeper.js'
import { BehindEntries } from '../delivery/wire/behind.js'
import { behindBucket } from '../delivery/wire/names.js'
import { every, now } from '../ground/core/clock.js'
import type { ReleaseStack } from '../ground/core/release.js'
import type { Level } from '../ground/core/telemetry/metrics.js'
import { waitForBucket } from '../ground/nats/bucket-stream.js'
import { AgeLimits } from '../management/operate/age-limits.js'
import { BehindDestinations } from '../management/operate/behind-destinations.js'
import type { DestinationOperations } from '../management/operate/destination-operations.js'
import { DroppedEvents } from '../management/operate/dropped-events.js'
import { ExpiringDeadLetters } from '../management/operate/expiring-dead-letters.js'
import { ExpiringEvents } from '../management/operate/expiring-events.js'
import type { RecordsLag } from '../management/operate/records-lag.js'
import { StateChanges } from '../management/operate/state-changes.js'
import { VanishedPacks } from '../management/operate/vanished-packs.js'
import type { Readiness } from '../management/process/readiness.js'
import { openAges, type RoleContext } from '../management/process/role-context.js'
import { ExpiredRules } from '../management/scheduled/expired-rules.js'
import { eventDestination, keepsRecords } from '../words/resource/event-destination.js'
import type { ViewState } from '../words/view/view-state.js'
import { beginApiCounters } from './begun-api-counters.js'
import type { StoreParts } from './store-parts.js'

/** Parts of IP lists that no list names are deleted this often. */
const listSweepMs = 60_000

export async function openBehind(
  { settings, occurrences }: RoleContext,
  { nats, partitions, store }: StoreParts,
  release: ReleaseStack,
): Promise<BehindDestinations> {
  const { view } = store
  const destinations = () => view.state.rows.get(eventDestination.kind)
  const entries = release.own(new BehindEntries(await waitForBucket(nats, behindBucket)))
  await entries.open()
  const keeping = () =>
    view.isComplete
      ? [...(destinations()?.values() ?? [])].filter(keepsRecords).map(({ id }) => id)
      : undefined
  const { retentionMs } = settings.nats
  release.own(new AgeLimits({ nats, partitions, entries, keeping, retentionMs, occurrences }))
  const destinationOf = (id: string) => destinations()?.get(id)
  const namedMax = settings.ops.metricsDestinationsMax
  return release.own(
    new BehindDestinations({ nats, partitions, entries, occurrences, destinationOf, namedMax }),
  )
}

interface WatchedParts {
  readonly destinations: Pick<DestinationOperations, 'statuses'>
  readonly keeper: BooksKeeper
  readonly readiness: Pick<Readiness, 'measures'>
  readonly lag: RecordsLag
}

export function openOperatorWatches(
  context: RoleContext,
  { nats, partitions, store, writes, presenter, listEntries, feeds }: StoreParts,
  { destinations: operations, keeper, readiness, lag }: WatchedParts,
  release: ReleaseStack,
): void {
  readiness.measures(lag)
  const { settings, occurrences, eventKinds } = context
  beginApiCounters(occurrences, partitions)
  const { retentionMs } = settings.nats
  const ages = release.own(openAges(context))
  const { view } = store
  const { links } = presenter
  release.own(new ExpiringDeadLetters({ nats, view, links, retentionMs, occurrences }))
  const destinations = () => view.state.rows.get(eventDestination.kind)
  release.own(
    new ExpiringEvents({
      nats,
      partitions,
      links,
      retentionMs,
      ages,
      occurrences,
      destinationOf: (id) => destinations()?.get(id),
      destinations: operations,
      backlogOf: (id) => keeper.books.destination(id).backlog,
      namedMax: settings.ops.metricsDestinationsMax,
    }),
  )
  release.own(
    new DroppedEvents({
      nats,
      partitions,
      links,
      retentionMs,
      occurrences,
      destinations: () => keeper.books.losing.flatMap((id) => destinations()?.get(id) ?? []),
      droppedOf: (id, reason) => keeper.books.dropped(id, reason),
      isTraffic: (kind) => eventKinds.some(({ name }) => name === kind),
    }),
  )
  release.own(
    new VanishedPacks({
      nats,
      partitions,
      occurrences,
      openPacks: () => keeper.books.openPacks,
      isDestination: (id) => destinations()?.has(id) ?? false,
    }),
  )
  release.own(new StateChanges({ nats, view, destinations: operations, links, occurrences }))
  release.own(new ExpiredRules({ store, writes, occurrences, ages }))
  feeds.start()
  const sweeping = every(listSweepMs, () => (store.refusal === undefined ? listEntries.sweep() : undefined))
  release.add(() => sweeping.stop())
  occurrences.certificateExpiry(() => certificateExpiry(view.state, now()))
}

// --- certificates ---

/** The member that holds the end of each kind of certificate. */
const endOf = {
  certificate_authority: 'not_after',
  tls_certificate: 'not_after',
  ssh_host_certificate: 'valid_until',
  ssh_user_certificate: 'valid_until',
} as const

const weekMs = 7 * 24 * 3_600_000

/**
 * The end of the certificate of each kind that ends first. One that expired in the last week counts, so that the alert
 * goes on; one that expired before was replaced, or is not needed.
 */
export function certificateExpiry({ rows }: Pick<ViewState, 'rows'>, nowMs: number): Level<'kind'>[] {
  return Object.entries(endOf).flatMap(([kind, member]): Level<'kind'>[] => {
    let firstMs = Number.POSITIVE_INFINITY
    for (const row of rows.get(kind)?.values() ?? []) {
      const endMs = Date.parse(String(row[member]))
      if (endMs > nowMs - weekMs && endMs < firstMs) firstMs = endMs
    }
    return Number.isFinite(firstMs) ? [[{ kind }, firstMs / 1000]] : []
  })
}
