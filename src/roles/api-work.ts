/** What the API does besides answering requests: the store, the books, and watches over what waits, is late or lost. */
import { type BooksKeeper, openBooks } from '../delivery/books/keeper.js'
import { openAwsClock } from '../delivery/deliver/aws/aws-clock.js'
import { type DestinationAccess, destinationAccess } from '../delivery/deliver/test-event.js'
import { checkMapping } from '../delivery/wire/mapping-check.js'
import { booksBucket, bucketNames, decisionLogStream } from '../delivery/wire/names.js'
import { neededStreams, reservedBytes, restoreStreams } from '../delivery/wire/streams.js'
import type { ReleaseStack } from '../ground/core/release.js'
import type { Failing } from '../ground/core/telemetry/health.js'
import { streamOf } from '../ground/nats/bucket-stream.js'
import type { Nats } from '../ground/nats/nats.js'
import type { Addresses, Frame } from '../management/process/child.js'
import type { Readiness } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import { SecretsView } from '../words/view/secrets-view.js'
import { reportProcess } from './process-report.js'
import { openGeography, writtenBy } from './role-parts.js'
import type { StoreParts } from './store-parts.js'

interface Surroundings {
  readonly readiness: Readiness
  readonly addresses: Addresses
  /** What links to resources begin with. */
  readonly baseUrl: () => string
}

/** Opened in this order, each as soon as what it needs is there. Large parts are loaded here. */
export async function openWork(
  context: RoleContext,
  { parent, release }: Frame,
  { readiness, addresses, baseUrl }: Surroundings,
) {
  const { settings, occurrences } = context
  const { destinationOperations } = await import('../management/operate/destination-operations.js')
  const geo = await openGeography(context, { warns: true })
  const { Live } = await import('../management/insight/live.js')
  const { RecordsLag } = await import('../management/operate/records-lag.js')
  const { ownersIn } = await import('../management/insight/dead-letter-owner.js')
  const { openBehind, openOperatorWatches } = await import('./operator-watches.js')
  const { openLogWriter, openStoreParts } = await import('./store-parts.js')
  const start = { parent, waitsFor: readiness.waitsFor }
  const parts = await openStoreParts(context, { baseUrl, geo }, release, start)
  const { store, nats, partitions, sealer } = parts
  reportProcess(nats, 'api', readiness, release, () => ({ addresses }))
  await checkMapping(nats, partitions.count)
  const bucketBytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const secrets = await openSecrets(nats, bucketBytesMax, release)
  const books = await openKeeper(context, nats, bucketBytesMax, release)
  const lag = release.own(new RecordsLag(nats, partitions, occurrences))
  const live = new Live({ nats, occurrences, ownerOf: ownersIn(store.view) })
  const behind = await openBehind(context, parts, release)
  const watched = await openBacklogs(books, release)
  const clock = openAwsClock(occurrences)
  const access: DestinationAccess =
    context.standIns ?? destinationAccess(settings, { clock, cluster: nats.confirmed })
  const jobs = { nats, partitions, bucketBytesMax, retentionMs: settings.nats.retentionMs }
  const destinations = destinationOperations({ ...jobs, ...watched, books, secrets, sealer, access, behind })
  const { openReplays } = await import('../management/operate/replays.js')
  const replays = await openReplays(jobs)
  openOperatorWatches(context, parts, { destinations, keeper: books, readiness, lag }, release)
  await openLogWriter(context, parts, release)
  return {
    parts,
    geo,
    secrets,
    books,
    lag,
    /** To be closed before the server that its watchers are connected to. */
    live,
    clock,
    jobs,
    destinations,
    replays,
    declareReady: () => declareReady(context, readiness, { parts, books, behind }),
  }
}

interface ReadyParts {
  readonly parts: StoreParts
  readonly books: BooksKeeper
  readonly behind: { readonly failing: Failing }
}

/** From now on `/readyz` follows what the role needs. */
async function declareReady(
  { settings, occurrences }: RoleContext,
  readiness: Readiness,
  { parts: { nats, partitions, store }, books, behind }: ReadyParts,
): Promise<void> {
  const makeStreams = async (): Promise<void> => {
    await restoreStreams(nats, settings.nats, store.view.state.accounts.size > 0, occurrences)
    await nats.restoreBuckets()
    await books.restoreSnapshots()
  }
  const alsoMade = (): readonly string[] => [decisionLogStream, ...nats.restorableBuckets.map(streamOf)]
  const failing = (): Failing => ({ ...behind.failing, ...(store.refusal && { store: store.refusal }) })
  const streams = (): readonly string[] => neededStreams(partitions.all).api
  const written = writtenBy(settings, 'api', partitions)
  const needs = { nats, streams, written, view: store.view, books, makeStreams, alsoMade, failing }
  await readiness.started(needs)
}

async function openKeeper({ occurrences }: RoleContext, nats: Nats, bytesMax: number, release: ReleaseStack) {
  const bucket = () => nats.openBucket(booksBucket, bytesMax, { isFilledByOwner: true })
  return release.own(await openBooks(nats, occurrences, bucket))
}

async function openBacklogs(keeper: BooksKeeper, release: ReleaseStack) {
  const { BacklogHistory } = await import('../management/operate/backlog-history.js')
  const { UnfoundBacklogs } = await import('../management/operate/unfound-backlogs.js')
  return {
    backlogs: release.own(new BacklogHistory(() => keeper.books.destinations())),
    unfound: release.own(new UnfoundBacklogs(() => keeper.books)),
  }
}

async function openSecrets(nats: Nats, bytesMax: number, release: ReleaseStack): Promise<SecretsView> {
  const secrets = release.own(new SecretsView(await nats.openBucket(bucketNames.secrets, bytesMax)))
  await secrets.open()
  return secrets
}
