/**
 * The composition root: the one file in which the whole system is visible. Every role is put together here. Each part
 * is given what it needs as an argument, and what was opened is closed in reverse order. What only the API needs and is
 * large (the store, the HTTP server) is loaded when the API is opened, so that the other roles start without it.
 *
 *     api       resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events; the command line
 *     pipeline  records ▸ walk ▸ packs; audit events, Weir's own and those of other services ▸ packs
 *     decide    weir.decide, weir.decide.agent; decisions over HTTP for proxies
 *     deliver   packs ▸ AWS
 *
 * `weir serve` runs all four as processes. A pipeline that runs on its own runs a `decide` for itself.
 */
import { connectionLimits } from './api/connection-limits.js'
import { openDecisionPort } from './api/decision-port.js'
import { keyFinder } from './api/key-finder.js'
import { KeyUses } from './api/key-uses.js'
import { openBooks } from './books/keeper.js'
import { LedgerWriter } from './books/ledger.js'
import { SettledInput } from './books/settled-input.js'
import { monotonicMs } from './core/clock.js'
import { messageOf, unavailable } from './core/errors.js'
import type { Failing } from './core/health.js'
import type { ReleaseStack } from './core/release.js'
import { expectSameKey, Sealer } from './core/seal.js'
import { openAwsClock } from './deliver/aws-clock.js'
import { Deliverer } from './deliver/deliverer.js'
import { DeliveryLog } from './deliver/delivery-log.js'
import { answerQuestions } from './deliver/questions.js'
import { SharedBodies } from './deliver/shared-bodies.js'
import { SharedPacks } from './deliver/shared-packs.js'
import { destinationAccess } from './deliver/test-event.js'
import { decide, decideAgent } from './evaluate/decide.js'
import { waitForBucket } from './nats/bucket.js'
import type { Nats } from './nats/nats.js'
import { Answers } from './pipeline/answers.js'
import { AuditPipeline } from './pipeline/audit-pipeline.js'
import { auditsOfApi } from './pipeline/audits-of-api.js'
import { openCatchUps } from './pipeline/catch-ups.js'
import { DecisionLog } from './pipeline/decision-log.js'
import { Janitor } from './pipeline/janitor.js'
import { Quarantine, quarantineTimes } from './pipeline/quarantine.js'
import { openReplayWork } from './pipeline/replays.js'
import { Pipeline } from './pipeline/run.js'
import { Shares } from './pipeline/shares.js'
import { openAdminServer } from './process/admin-server.js'
import { announceApi, makeFirstAccount } from './process/announce.js'
import type { Frame, Role } from './process/child.js'
import { connect } from './process/connect.js'
import { openGeography } from './process/geography.js'
import { ingressUrl } from './process/local-nats.js'
import { forkQuarantine, forkTrial, type Program, startDecider } from './process/programs.js'
import { firstApiStart, openReadiness, openRoleServer, Readiness, roleOf } from './process/readiness.js'
import type { RoleContext } from './process/role-context.js'
import { removeRuntime, writeRuntime } from './process/runtime-file.js'
import { secretKey } from './process/secret-key.js'
import type { StoreParts } from './process/store-parts.js'
import { Configuration } from './produce/configuration.js'
import { trialStarter } from './trial/trial-process.js'
import { destinationFinder, destinationsIn } from './view/destinations.js'
import { SecretsView } from './view/secrets-view.js'
import { openView } from './view/view.js'
import {
  abuseDecisionSubject,
  agentSubject,
  auditInStream,
  auditStream,
  booksBucket,
  bucketNames,
  connectionSubject,
  deliveriesStream,
  keyUseBucket,
  recordsStream,
} from './wire/names.js'
import { neededStreams } from './wire/needed-streams.js'
import { reservedBytes, restoreStreams, whenStream } from './wire/streams.js'
import { Watched } from './wire/watched.js'

// --- api ---

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
  const { buildApi } = await import('./api/server.js')
  const { destinationOperations } = await import('./api/destination-operations.js')
  const geo = await openGeography(context, { warns: true })
  const { exchangeUsage, Usage } = await import('./api/usage.js')
  const { Live } = await import('./api/live.js')
  const { openReplays } = await import('./api/replays.js')
  const { openTrials } = await import('./api/trials.js')
  const { ownersIn } = await import('./api/dead-letter-owner.js')
  const { openBehind, openOperatorWatches } = await import('./process/operator-watches.js')
  const { openLogWriter, openStoreParts } = await import('./process/store-parts.js')
  const parts = await openStoreParts(context, () => baseUrl ?? listening.url, release, readiness.waitsFor)
  const { store, nats, sealer } = parts
  const bucketBytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const secrets = release.own(new SecretsView(await nats.openBucket(bucketNames.secrets, bucketBytesMax)))
  await secrets.open()
  const makeBooks = () => nats.openBucket(booksBucket, bucketBytesMax)
  const books = release.own(await openBooks(nats, occurrences, makeBooks))
  const behind = await openBehind(context, parts, release)
  const access = destinationAccess(settings, openAwsClock(occurrences))
  const usage = new Usage(settings.api.rateLimitPerMinute)
  release.own(exchangeUsage(nats, usage, occurrences))
  const live = new Live({ nats, occurrences, ownerOf: ownersIn(store.view) })
  const jobs = { nats, bucketBytesMax, retentionMs: settings.nats.retentionMs }
  const start = trialStarter(() => forkTrial(program, settings))
  const app = await buildApi({
    context: { store, writes: parts.writes, presenter: parts.presenter },
    view: store.view,
    destinations: destinationOperations({ ...jobs, books, secrets, sealer, access, behind }),
    geo,
    live,
    log: parts.log,
    deliveries: parts.deliveries,
    nats,
    replays: await openReplays(jobs),
    trials: release.own(await openTrials({ ...jobs, start, occurrences })),
    occurrences,
    baseUrl,
    versionHeaders: settings.api.versionHeaders,
    eventKinds,
    usage,
    keyUses: parts.keyUses,
    trustedProxies: settings.api.trustedProxies ?? [],
    listening,
  })
  release.add(() => Promise.all([listening.close(requestsEndMs), app.close()]))
  release.own(live)
  openOperatorWatches(context, parts, { keeper: books, readiness }, release)
  await openLogWriter(context, parts, release)
  await openCommands(context, parts, listening.url, release)
  await makeFirstAccount(context, parts)
  const makeStreams = async () =>
    void (await restoreStreams(nats, settings.nats, store.view.state.accounts.size > 0, occurrences))
  const failing = (): Failing => ({ ...behind.failing, ...(store.refusal && { store: store.refusal }) })
  await readiness.started({ nats, streams: neededStreams.api, view: store.view, books, makeStreams, failing })
  // A supervisor prints the addresses itself, and need not ask for the health that the API reports.
  if (parent === undefined) announceApi(listening.url)
  return { ...roleOf(readiness), failing: async () => ({}), addresses: { api: listening.url } }
}

/** A stop waits so long for requests under way. */
const requestsEndMs = 2_000

/** Takes operators' decisions over NATS, and commands: the command line finds this process by its runtime file. */
async function openCommands(
  { settings, occurrences }: RoleContext,
  parts: StoreParts,
  apiUrl: string,
  release: ReleaseStack,
): Promise<void> {
  const { answerDecision } = await import('./api/abuse-reports.js')
  const { runAdminCommand } = await import('./process/admin.js')
  const decided = (request: Uint8Array) => answerDecision(parts, request, occurrences)
  release.own(parts.nats.answer(abuseDecisionSubject, 'api', decided))
  const admin = release.own(await openAdminServer((command) => runAdminCommand(parts, command)))
  const { dir } = settings.data
  release.add(() => removeRuntime(dir))
  writeRuntime(dir, {
    apiUrl,
    natsUrl: ingressUrl(settings),
    adminUrl: admin.url,
    adminToken: admin.token,
  })
}

// --- pipeline ---

export async function openPipeline(
  context: RoleContext,
  { parent, release }: Frame,
  program: Program,
): Promise<Role> {
  // Checks by schemas, which take long to load.
  const { auditsOfServices } = await import('./pipeline/audits-of-services.js')
  const { settings, occurrences, eventKinds } = context
  const geo = await openGeography(context, { warns: parent === undefined })
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'pipeline'))
  readiness.waitsFor(firstApiStart)
  const view = release.own(await openView(nats, occurrences))
  readiness.waitsForView(view)
  const configuration = release.own(new Configuration(view, occurrences, eventKinds, 'pipeline'))
  await configuration.open()
  for (const stream of [auditStream, auditInStream, recordsStream]) await whenStream(nats, stream)
  const ledger = release.own(openLedger(context, nats))
  const books = parent === undefined ? release.own(await openBooks(nats, occurrences)) : undefined
  const destinationOf = destinationFinder(view)
  const settled = new SettledInput(nats)
  const auditDeps = { nats, view, ledger, settled, occurrences }
  for (const source of [auditsOfApi(auditDeps), auditsOfServices(auditDeps)])
    release.own(new AuditPipeline(auditDeps, source)).open()
  const fork = () => forkQuarantine(program)
  const quarantine = release.own(new Quarantine({ ...quarantineTimes, fork }))
  const watched = new Watched('accounts')
  release.own(watched.listen(nats, occurrences))
  const mode = settings.decisionLog.rows
  const decisionLog = release.own(new DecisionLog({ nats, mode, watched, occurrences }))
  const shares = new Shares(nats)
  const traffic = { nats, configuration, geo, ledger, occurrences, shares }
  const replaying = { ...traffic, eventKinds, isBusy: (): boolean => pipeline.isBusy }
  const catchUps = release.own(await openCatchUps({ ...replaying, destinationOf }))
  release.own(new Janitor({ nats, ledger, occurrences, destinationOf, catchUps }))
  const pipeline = release.own(new Pipeline({ ...traffic, settled, quarantine, decisionLog, catchUps }))
  pipeline.open()
  release.own(await openReplayWork(replaying))
  const decider = parent === undefined ? release.own(startDecider(context, program)) : undefined
  await decider?.ready
  await readiness.started({ nats, streams: neededStreams.pipeline, view, books, below: decider })
  return roleOf(readiness)
}

const openLedger = ({ occurrences }: RoleContext, nats: Nats): LedgerWriter =>
  new LedgerWriter(nats, (error) => occurrences.ledgerUnwritten({ reason: messageOf(error) }))

// --- decide ---

export async function openDecide(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences } = context
  const geo = await openGeography(context, { warns: parent === undefined })
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'decide'))
  readiness.waitsFor(firstApiStart)
  const view = release.own(await openView(nats, occurrences))
  readiness.waitsForView(view)
  const configuration = release.own(new Configuration(view, occurrences, context.eventKinds, 'decide'))
  await configuration.open()
  const policySet = () => configuration.current.policySet
  const answers = release.own(new Answers({ nats, mode: settings.decisionLog.rows, occurrences }))
  const decided = (request: Uint8Array): Uint8Array => {
    const startedMs = monotonicMs()
    const answer = decide(policySet(), geo, request, answers.noted, settings.decide.explain === 'on')
    occurrences.decisionTimed({ over: 'nats' }, (monotonicMs() - startedMs) / 1000)
    return answer
  }
  release.own(nats.answer(connectionSubject, 'decide', decided))
  const agentDecided = (request: Uint8Array) => decideAgent(policySet(), request, answers.agents)
  release.own(nats.answer(agentSubject, 'decide', agentDecided))
  const { host, trustedProxies = [] } = settings.api
  // The API creates the bucket; one that is older has none.
  const keyUses = release.own(new KeyUses({ bucket: () => nats.findBucket(keyUseBucket), occurrences }))
  const keysOf = keyFinder(view)
  const asked = { policySet, geo, keysOf, keyUses, trustedProxies, occurrences, noted: answers.noted }
  const port = await openDecisionPort(host, settings.decide.port, asked)
  release.add(() => port?.close(requestsEndMs))
  await readiness.started({ nats, streams: neededStreams.decide, view })
  return { ...roleOf(readiness), addresses: port === undefined ? {} : { decide: port.url } }
}

// --- deliver ---

export async function openDeliver(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences } = context
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'deliver'))
  readiness.waitsFor(firstApiStart)
  const sealer = new Sealer(secretKey(settings.data))
  const view = release.own(await openView(nats, occurrences, ['event_destination']))
  readiness.waitsForView(view)
  await view.usable
  expectSameKey(view.state.meta?.key_fingerprint, sealer.fingerprint)
  const secrets = release.own(new SecretsView(await waitForBucket(nats, bucketNames.secrets)))
  await secrets.open()
  await whenStream(nats, deliveriesStream)
  const ledger = release.own(openLedger(context, nats))
  const books = parent === undefined ? release.own(await openBooks(nats, occurrences)) : undefined
  const watched = new Watched('destinations')
  release.own(watched.listen(nats, occurrences))
  const mode = settings.decisionLog.rows
  const deliveryLog = release.own(new DeliveryLog({ nats, mode, occurrences, watched }))
  const packs = new SharedPacks()
  const { openSender } = destinationAccess(settings, openAwsClock(occurrences), new SharedBodies(packs))
  const { metricsDestinationsMax } = settings.ops
  const bounds = { retentionMs: settings.nats.retentionMs, metricsDestinationsMax }
  const deliverer = release.own(
    new Deliverer({ nats, ledger, occurrences, openSender, packs, deliveryLog, ...bounds }),
  )
  const update = (): void => {
    const { configs, deletedIds } = destinationsIn(view.state, secrets, sealer)
    void deliverer.update(configs, deletedIds)
  }
  view.onChange((kind) => {
    if (kind === 'event_destination' || kind === '*') update()
  })
  secrets.onChange(update)
  update()
  release.own(answerQuestions(nats, deliverer))
  await readiness.started({ nats, streams: neededStreams.deliver, view, books })
  return roleOf(readiness)
}
