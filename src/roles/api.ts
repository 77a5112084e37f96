/**
 * The role `api`: resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events; the command line.
 *
 * Large parts (the store, the HTTP server) are loaded after the port has opened, which then answers that the role
 * starts.
 */
import { type BooksKeeper, openBooks } from '../books/keeper.js'
import { unavailable } from '../core/errors.js'
import type { ReleaseStack } from '../core/release.js'
import type { Failing } from '../core/telemetry/health.js'
import { openAwsClock } from '../deliver/aws/aws-clock.js'
import { destinationAccess } from '../deliver/test-event.js'
import { connectionLimits, requestsEndMs } from '../http/bounds/connection-limits.js'
import { streamOf } from '../nats/bucket-stream.js'
import type { Nats } from '../nats/nats.js'
import type { Frame, Role } from '../process/child.js'
import { openRoleServer, Readiness, roleOf } from '../process/readiness.js'
import type { RoleContext } from '../process/role-context.js'
import {
  type AdminCommand,
  openAdminServer,
  removeRuntime,
  writeRuntime,
} from '../process/running-service.js'
import { trialStarter } from '../trial/trial-process.js'
import { SecretsView } from '../view/secrets-view.js'
import { checkMapping } from '../wire/mapping-check.js'
import { abuseDecisionSubject, booksBucket, bucketNames, decisionLogStream } from '../wire/names.js'
import { neededStreams, reservedBytes, restoreStreams } from '../wire/streams.js'
import { announceApi, makeFirstAccount } from './announce.js'
import { ingressUrl } from './local-nats.js'
import { forkTrial, type Program } from './programs.js'
import { openGeography, writtenBy } from './role-parts.js'
import type { StoreParts } from './store-parts.js'
import type { WayIn } from './way-in.js'

export async function openApi(
  context: RoleContext,
  { parent, release }: Frame,
  program: Program,
): Promise<Role> {
  const { settings, occurrences, eventKinds } = context
  const { port, baseUrl } = settings.api
  const readiness = new Readiness(context, parent, release)
  const otherwise = unavailable('The API is starting.')
  const listening = await openRoleServer(context, readiness, { port, otherwise, http: connectionLimits })
  release.own(listening)
  // Loading blocks: once the store is open, its health is watched.
  const { buildApi } = await import('../api/server.js')
  const { destinationOperations } = await import('../operate/destination-operations.js')
  const geo = await openGeography(context, { warns: true })
  const { Live } = await import('../insight/live.js')
  const { RecordsLag } = await import('../operate/records-lag.js')
  const { openReplays } = await import('../operate/replays.js')
  const { openTrials } = await import('../insight/trials.js')
  const { ownersIn } = await import('../insight/dead-letter-owner.js')
  const { openBehind, openOperatorWatches } = await import('./operator-watches.js')
  const { openWayIn } = await import('./way-in.js')
  const { openLogWriter, openStoreParts } = await import('./store-parts.js')
  const given = { baseUrl: () => baseUrl ?? listening.url, geo }
  const parts = await openStoreParts(context, given, release, readiness.waitsFor)
  const { store, nats, partitions, sealer, log, deliveries, failures, traffic } = parts
  await checkMapping(nats, partitions.count)
  const bucketBytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const secrets = await openSecrets(nats, bucketBytesMax, release)
  const books = await openKeeper(context, nats, bucketBytesMax, release)
  const lag = release.own(new RecordsLag(nats, partitions, occurrences))
  const behind = await openBehind(context, parts, release)
  const watched = await openBacklogs(books, release)
  const access = destinationAccess(settings, { clock: openAwsClock(occurrences), cluster: nats.confirmed })
  const wayIn = await openWayIn(context, parts, release)
  const live = new Live({ nats, occurrences, ownerOf: ownersIn(store.view) })
  const jobs = { nats, partitions, bucketBytesMax, retentionMs: settings.nats.retentionMs }
  const app = await buildApi({
    context: parts,
    view: store.view,
    destinations: destinationOperations({ ...jobs, ...watched, books, secrets, sealer, access, behind }),
    geo,
    live,
    lag,
    ...{ log, deliveries, failures, traffic, nats, partitions },
    replays: await openReplays(jobs),
    trials: release.own(
      await openTrials({ ...jobs, start: trialStarter(() => forkTrial(program, settings)), occurrences }),
    ),
    occurrences,
    baseUrl,
    versionHeaders: settings.api.versionHeaders,
    eventKinds,
    ...wayIn,
    keyUses: parts.keyUses,
    trustedProxies: settings.api.trustedProxies ?? [],
    listening,
  })
  release.add(() => Promise.all([listening.close(requestsEndMs), app.close()]))
  release.own(live)
  openOperatorWatches(context, parts, { keeper: books, readiness, lag }, release)
  await openLogWriter(context, parts, release)
  await openCommands(context, parts, { ...wayIn, apiUrl: listening.url }, release)
  await makeFirstAccount(context, parts)
  await declareReady(context, readiness, { parts, books, behind })
  // A supervisor prints the addresses itself, and need not ask for the health that the API reports.
  if (parent === undefined) await announceApi(listening.url, settings.data.dir)
  return { ...roleOf(readiness), failing: async () => ({}), addresses: { api: listening.url } }
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
  const { BacklogHistory } = await import('../operate/backlog-history.js')
  const { UnfoundBacklogs } = await import('../operate/unfound-backlogs.js')
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

/** Takes operators' decisions over NATS, and commands: the command line finds this process by its runtime file. */
async function openCommands(
  { settings, occurrences }: RoleContext,
  parts: StoreParts,
  { apiUrl, signInCodes }: Pick<WayIn, 'signInCodes'> & { readonly apiUrl: string },
  release: ReleaseStack,
): Promise<void> {
  const { answerDecision } = await import('../write/abuse-reports.js')
  const { runAdminCommand } = await import('./admin.js')
  const { describeSignInLink } = await import('./way-in.js')
  const decided = (request: Uint8Array) => answerDecision(parts, request, occurrences)
  release.own(parts.nats.answer(abuseDecisionSubject, 'api', decided))
  const run = async (command: AdminCommand) =>
    command.command === 'console'
      ? describeSignInLink(parts, signInCodes, apiUrl, command)
      : runAdminCommand(parts, command)
  const admin = release.own(await openAdminServer(run))
  const { dir } = settings.data
  release.add(() => removeRuntime(dir))
  writeRuntime(dir, {
    apiUrl,
    natsUrl: ingressUrl(settings),
    adminUrl: admin.url,
    adminToken: admin.token,
  })
}
