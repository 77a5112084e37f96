/**
 * The composition root: the one file where the system is visible. Every role is put together here from its parts,
 * each part is given what it needs as an argument, and what was opened is closed in reverse. What the API alone needs
 * and is large (the store, the HTTP server) is loaded where the API is opened: the other roles start without it. So is
 * the part of the pipeline that checks by schemas.
 *
 *     api       resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events
 *     pipeline  records ▸ walk ▸ packs; audit events, its own and other services' ▸ packs; runs `decide` beside itself
 *     decide    weir.decide, weir.decide.agent
 *     deliver   packs ▸ AWS
 */
import type { ChildProcess } from 'node:child_process'
import { connectionLimits } from './api/connection-limits.js'
import { destinationOperations } from './api/destination-operations.js'
import { now } from './core/clock.js'
import { unavailable } from './core/errors.js'
import type { Failing } from './core/health.js'
import { metricsSnapshot } from './core/metrics.js'
import { ReleaseStack } from './core/release.js'
import { Sealer } from './core/seal.js'
import { Deliverer } from './deliver/deliverer.js'
import type { Verdict } from './evaluate/evaluate.js'
import type { Warning } from './evaluate/ip-restriction.js'
import { AuditPipeline } from './pipeline/audit-pipeline.js'
import { auditsOfApi } from './pipeline/audits-of-api.js'
import { Configuration } from './pipeline/configuration.js'
import { decide, decideAgent } from './pipeline/decide.js'
import { FailureReports, notedOf } from './pipeline/failure-reports.js'
import { Janitor } from './pipeline/janitor.js'
import { processMessage } from './pipeline/process-record.js'
import { Quarantine, quarantineTimes } from './pipeline/quarantine.js'
import { tryRecords } from './pipeline/quarantine-child.js'
import { Pipeline } from './pipeline/run.js'
import {
  bucketOnceThere,
  connect,
  destinationAccess,
  makeStreams,
  never,
  openBooks,
  openBooksAlone,
  openLedger,
  openReadiness,
  openRoleServer,
  openView,
  roleOf,
  workOfTheApi,
} from './process/app-parts.js'
import type { Frame, Role } from './process/child.js'
import { Readiness } from './process/readiness.js'
import type { RoleContext } from './process/role-context.js'
import { secretKey } from './process/secret-key.js'
import type { StoreParts } from './process/store-parts.js'
import { openGeo } from './record/geo.js'
import { destinationsIn } from './view/destinations.js'
import { SecretsView } from './view/secrets-view.js'
import {
  abuseDecisionSubject,
  agentSubject,
  auditInStream,
  auditStream,
  bucketNames,
  connectionSubject,
  deliveriesStream,
  recordsStream,
  statusSubject,
} from './wire/names.js'
import { neededStreams } from './wire/needed-streams.js'
import { PackWriter } from './wire/pack.js'
import { reservedBytes, whenStream } from './wire/streams.js'

// --- roles ---

export interface OpenedApi extends Role {
  readonly parts: StoreParts
  /** Lets it be ready: what the caller still had to do is done. */
  started(): Promise<void>
}

export async function openApi(context: RoleContext, { parent, release }: Frame): Promise<OpenedApi> {
  const { settings, occurrences, eventKinds } = context
  const { port, baseUrl } = settings.api
  const readiness = new Readiness(context, parent, release)
  const otherwise = unavailable('The API is starting.')
  const listening = await openRoleServer(context, readiness, { port, otherwise, http: connectionLimits })
  release.own(listening)
  // Loading blocks: once the store is open, its health is watched.
  const { buildApi } = await import('./api/server.js')
  const { answerDecision } = await import('./api/abuse-reports.js')
  const { openStoreParts, openUsage } = await import('./process/store-parts.js')
  const parts = await openStoreParts(context, () => baseUrl ?? listening.url, release)
  const { store, nats, sealer } = parts
  const secrets = release.own(
    new SecretsView(await nats.openBucket(bucketNames.secrets, reservedBytes(settings.nats.storageMaxBytes))),
  )
  await secrets.open()
  const books = release.own(await openBooks(context, nats))
  const app = await buildApi({
    context: { store, writes: parts.writes, presenter: parts.presenter },
    view: store.view,
    destinations: destinationOperations({
      nats,
      books,
      secrets,
      sealer,
      access: destinationAccess(settings),
    }),
    occurrences,
    baseUrl,
    versionHeaders: settings.api.versionHeaders,
    eventKinds,
    usage: openUsage(context, nats, release),
    trustedProxies: settings.api.trustedProxies ?? [],
    health: { failing: () => readiness.failing(), metrics: () => readiness.metrics() },
    listening,
  })
  release.add(() => Promise.all([listening.close(requestsEndMs), app.close()]))
  const decided = (request: Uint8Array) => answerDecision(parts, request, occurrences)
  release.own(nats.answer(abuseDecisionSubject, 'api', decided))
  const failing = (): Failing => (store.refusal === undefined ? {} : { store: store.refusal })
  const makeMissing = async () => void (await makeStreams(context, nats, store.view.state.accounts.size > 0))
  const needs = {
    nats,
    streams: neededStreams.api,
    view: store.view,
    books,
    makeStreams: makeMissing,
    failing,
  }
  return {
    ...roleOf(context),
    parts,
    started: () => readiness.started(needs),
    addresses: { api: listening.url },
  }
}

/** A stop waits so long for requests under way. */
const requestsEndMs = 2_000

/** Processes that a pipeline runs beside itself. */
export interface PipelineProcesses {
  readonly openDecider: () => Promise<Pick<Role, 'failing' | 'metrics'> & { close(): Promise<void> }>
  readonly forkQuarantine: () => ChildProcess
}

export async function openPipeline(
  context: RoleContext,
  { parent, release }: Frame,
  processes: PipelineProcesses,
): Promise<Role> {
  const { auditsOfServices } = await import('./pipeline/audits-of-services.js')
  const { settings, registry, occurrences, eventKinds } = context
  const geo = await openGeo(settings.geo.databases)
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'pipeline'))
  readiness.waitsFor(workOfTheApi)
  const view = release.own(await openView(context, nats))
  const configuration = release.own(new Configuration(view, occurrences, eventKinds))
  await configuration.open()
  for (const stream of [auditStream, auditInStream, recordsStream]) await whenStream(nats, stream, never)
  const ledger = release.own(openLedger(context, nats))
  const books = await openBooksAlone(context, parent, release, nats)
  const isDestination = (id: string): boolean | undefined =>
    view.isUsable ? view.state.rows.get('event_destination')?.has(id) === true : undefined
  release.own(new Janitor({ nats, ledger, occurrences, isDestination }))
  const auditDeps = { nats, view, ledger, occurrences }
  for (const source of [auditsOfApi(auditDeps), auditsOfServices(auditDeps)])
    release.own(new AuditPipeline(auditDeps, source)).open()
  const quarantine = release.own(new Quarantine({ ...quarantineTimes, fork: processes.forkQuarantine }))
  const pipeline = release.own(new Pipeline({ nats, configuration, geo, ledger, occurrences, quarantine }))
  pipeline.open()
  const decider = release.own(await processes.openDecider())
  const snapshots = async () => [await metricsSnapshot(registry), ...(await decider.metrics())]
  const { failing } = decider
  await readiness.started({ nats, streams: neededStreams.pipeline, view, books, failing })
  return { ...roleOf(context, readiness), metrics: snapshots }
}

export async function openDecide(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences } = context
  const geo = await openGeo(settings.geo.databases)
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'decide'))
  readiness.waitsFor(workOfTheApi)
  const view = release.own(await openView(context, nats))
  const configuration = release.own(new Configuration(view, occurrences, context.eventKinds))
  await configuration.open()
  const policySet = () => configuration.current.policySet
  const reports = release.own(new FailureReports(occurrences, 'decision'))
  const note = (verdict: Verdict): void => reports.add(notedOf(verdict))
  release.own(nats.answer(connectionSubject, 'decide', (request) => decide(policySet(), geo, request, note)))
  const warned = (warning: Warning): void => reports.add(notedOf({ failures: [], warnings: [warning] }))
  release.own(nats.answer(agentSubject, 'decide', (request) => decideAgent(policySet(), request, warned)))
  await readiness.started({ nats, streams: neededStreams.decide, view })
  return roleOf(context, readiness)
}

/** Where a record is tried that may end its process: a child of a pipeline, and nothing else. */
export async function openQuarantine(context: RoleContext): Promise<void> {
  await using release = new ReleaseStack()
  const nats = release.own(await connect(context, 'quarantine'))
  const geo = await openGeo(context.settings.geo.databases)
  const view = release.own(await openView(context, nats))
  const configuration = release.own(new Configuration(view, context.occurrences, context.eventKinds))
  await configuration.open()
  await tryRecords((bytes) => {
    const buffers = { packOf: () => new PackWriter() }
    processMessage({ bytes, storedAtMs: now() }, { view: configuration.current, geo, buffers })
  })
}

export async function openDeliver(context: RoleContext, { parent, release }: Frame): Promise<Role> {
  const { settings, occurrences } = context
  const readiness = await openReadiness(context, parent, release)
  const nats = release.own(await connect(context, 'deliver'))
  readiness.waitsFor(workOfTheApi)
  const sealer = new Sealer(secretKey(settings.data))
  const view = release.own(await openView(context, nats))
  await view.usable
  const secrets = release.own(new SecretsView(await bucketOnceThere(nats, bucketNames.secrets)))
  await secrets.open()
  await whenStream(nats, deliveriesStream, never)
  const ledger = release.own(openLedger(context, nats))
  const books = await openBooksAlone(context, parent, release, nats)
  const deliverer = release.own(
    new Deliverer({ nats, ledger, occurrences, openSender: destinationAccess(settings).openSender }),
  )
  const update = (): void => {
    const { configs, gone } = destinationsIn(view.state, secrets, sealer)
    void deliverer.update(configs, gone)
  }
  view.onChange((kind) => {
    if (kind === 'event_destination' || kind === '*') update()
  })
  secrets.onChange(update)
  update()
  // An unknown destination is answered, too, so that the API knows that a deliverer runs.
  const answer = (request: Uint8Array): string =>
    JSON.stringify(deliverer.statusOf(Buffer.from(request).toString()) ?? null)
  release.own(nats.answer(statusSubject, undefined, answer))
  await readiness.started({ nats, streams: neededStreams.deliver, view, books })
  return roleOf(context, readiness)
}
