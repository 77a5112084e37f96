/**
 * The role `api`: resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events; the command line.
 *
 * Large parts (the store, the HTTP server) are loaded after the port has opened, which then answers that the role
 * starts.
 */
import { type BooksKeeper, openBooks } from '../delivery/books/keeper.js'
import { openAwsClock } from '../delivery/deliver/aws/aws-clock.js'
import { destinationAccess } from '../delivery/deliver/test-event.js'
import { checkMapping } from '../delivery/wire/mapping-check.js'
import { abuseDecisionSubject, booksBucket, bucketNames, decisionLogStream } from '../delivery/wire/names.js'
import { neededStreams, reservedBytes, restoreStreams } from '../delivery/wire/streams.js'
import { unavailable } from '../ground/core/errors.js'
import type { ReleaseStack } from '../ground/core/release.js'
import type { Failing } from '../ground/core/telemetry/health.js'
import { streamOf } from '../ground/nats/bucket-stream.js'
import type { Nats } from '../ground/nats/nats.js'
import { trialStarter } from '../judging/trial/trial-process.js'
import { connectionLimits, requestsEndMs } from '../management/exchange/connection-limits.js'
import type { Frame, Role } from '../management/process/child.js'
import { openApiServers, Readiness, roleOf } from '../management/process/readiness.js'
import type { RoleContext } from '../management/process/role-context.js'
import {
  type AdminCommand,
  openAdminServer,
  removeRuntime,
  writeRuntime,
} from '../management/process/running-service.js'
import { SecretsView } from '../words/view/secrets-view.js'
import { announceApi, makeFirstAccount } from './announce.js'
import type { OpenedDoctor } from './doctor-parts.js'
import { ingressAddress } from './local-nats.js'
import { reportProcess } from './process-report.js'
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
  const readiness = new Readiness(context, parent, release)
  const otherwise = () => unavailable(`The API is starting: it waits for ${readiness.waited}.`)
  const options = { otherwise, http: connectionLimits }
  const { listening, opsUrl } = await openApiServers(context, readiness, options, release)
  // Loading blocks: once the store is open, its health is watched.
  const { buildApi } = await import('../management/api/server.js')
  const { destinationOperations } = await import('../management/operate/destination-operations.js')
  const geo = await openGeography(context, { warns: true })
  const { Live } = await import('../management/insight/live.js')
  const { RecordsLag } = await import('../management/operate/records-lag.js')
  const { ownersIn } = await import('../management/insight/dead-letter-owner.js')
  const { openBehind, openOperatorWatches } = await import('./operator-watches.js')
  const { openWayIn } = await import('./way-in.js')
  const { openLogWriter, openStoreParts } = await import('./store-parts.js')
  const given = { baseUrl: () => settings.api.baseUrl ?? listening.url, geo }
  const parts = await openStoreParts(context, given, release, { parent, waitsFor: readiness.waitsFor })
  const { store, nats, partitions, sealer } = parts
  reportProcess(nats, 'api', readiness, release, () => ({ addresses: { api: listening.url } }))
  await checkMapping(nats, partitions.count)
  const bucketBytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const secrets = await openSecrets(nats, bucketBytesMax, release)
  const books = await openKeeper(context, nats, bucketBytesMax, release)
  const lag = release.own(new RecordsLag(nats, partitions, occurrences))
  const live = new Live({ nats, occurrences, ownerOf: ownersIn(store.view) })
  const behind = await openBehind(context, parts, release)
  const watched = await openBacklogs(books, release)
  const clock = openAwsClock(occurrences)
  const access = destinationAccess(settings, { clock, cluster: nats.confirmed })
  const wayIn = await openWayIn(context, parts, release)
  const jobs = { nats, partitions, bucketBytesMax, retentionMs: settings.nats.retentionMs }
  const destinations = destinationOperations({ ...jobs, ...watched, books, secrets, sealer, access, behind })
  const { openDoctor } = await import('./doctor-parts.js')
  const opened = openDoctor(context, parts, { destinations, geo, lag, clock, readiness, secrets })
  const app = await buildApi({
    context: parts,
    view: store.view,
    destinations,
    doctor: opened.doctor,
    geo,
    live,
    lag,
    ...servedParts(parts),
    occurrences,
    baseUrl: settings.api.baseUrl,
    eventKinds,
    ...(await openJobs(jobs, context, program, release)),
    versionHeaders: settings.api.versionHeaders,
    ...wayIn,
    trustedProxies: settings.api.trustedProxies ?? [],
    // 0: whichever is free, which only the process that listens knows.
    decidePort: settings.decide.port || undefined,
    listening,
  })
  release.add(() => Promise.all([listening.close(requestsEndMs), app.close()]))
  release.own(live)
  openOperatorWatches(context, parts, { destinations, keeper: books, readiness, lag }, release)
  await openLogWriter(context, parts, release)
  await openCommands(context, parts, { ...wayIn, ...opened, apiUrl: listening.url }, release)
  await makeFirstAccount(context, parts)
  await declareReady(context, readiness, { parts, books, behind })
  // A supervisor prints the addresses itself, and need not ask for the health that the API reports.
  if (parent === undefined) await announceApi(listening.url, opsUrl, settings.data.dir)
  return { ...roleOf(readiness), failing: async () => ({}), addresses: { api: listening.url, ops: opsUrl } }
}

/** The parts of the store that routes read from. */
const servedParts = ({
  log,
  deliveries,
  failures,
  traffic,
  nats,
  partitions,
  keyUses,
  versions,
}: StoreParts) => ({
  log,
  deliveries,
  failures,
  traffic,
  versions,
  nats,
  partitions,
  keyUses,
})

interface JobOptions extends Pick<StoreParts, 'nats' | 'partitions'> {
  readonly bucketBytesMax: number
  readonly retentionMs: number
}

/** Replays, and trials of drafts. */
async function openJobs(
  options: JobOptions,
  { settings, occurrences }: RoleContext,
  program: Program,
  release: ReleaseStack,
) {
  const { openReplays } = await import('../management/operate/replays.js')
  const { openTrials } = await import('../management/insight/trials.js')
  const start = trialStarter(() => forkTrial(program, settings))
  return {
    replays: await openReplays(options),
    trials: release.own(await openTrials({ ...options, start, occurrences })),
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

interface CommandParts extends Pick<WayIn, 'signInCodes' | 'sessions'>, OpenedDoctor {
  readonly apiUrl: string
}

/** Takes operators' decisions over NATS, and commands: the command line finds this process by its runtime file. */
async function openCommands(
  { settings, occurrences }: RoleContext,
  parts: StoreParts,
  { apiUrl, signInCodes, sessions, doctor, bundle }: CommandParts,
  release: ReleaseStack,
): Promise<void> {
  const { answerDecision } = await import('../management/write/abuse-reports.js')
  const { runAdminCommand } = await import('./admin.js')
  const { describeSignInLink } = await import('./way-in.js')
  const { SecretKeyCommands } = await import('./secret-key-commands.js')
  const decided = (request: Uint8Array) => answerDecision(parts, request, occurrences)
  release.own(parts.nats.answer(abuseDecisionSubject, 'api', decided))
  const secretKeys = new SecretKeyCommands({ ...parts, sessions, data: settings.data })
  const run = async (command: AdminCommand) => {
    if (command.command === 'console') return describeSignInLink(parts, signInCodes, apiUrl, command)
    if (command.command === 'doctor') return JSON.stringify(await doctor.report())
    if (command.command === 'doctor bundle') return JSON.stringify(await bundle())
    if (command.command.startsWith('secret-key ')) return secretKeys.answer(command)
    return runAdminCommand(parts, command)
  }
  const admin = release.own(await openAdminServer(run))
  const { dir } = settings.data
  release.add(() => removeRuntime(dir))
  writeRuntime(dir, {
    apiUrl,
    ...ingressAddress(settings),
    adminUrl: admin.url,
    adminToken: admin.token,
  })
}
