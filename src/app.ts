/**
 * The composition root: the one file where the system is visible. Every role is put together here from its parts,
 * each part is given what it needs as an argument, and what was opened is closed in reverse. What the API alone needs
 * and is large (the store, the HTTP server) is loaded where the API is opened: the other roles start without it.
 *
 *     api       resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events
 *     pipeline  records ▸ walk ▸ packs; audit events, its own and other services' ▸ packs; runs `decide` beside itself
 *     decide    weir.decide, weir.decide.agent
 *     deliver   packs ▸ AWS
 */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { answerDecision, decideSubject } from './api/abuse-reports.js'
import { renderRules } from './api/audit-of-rules.js'
import { BaseLinks, Presenter } from './api/present.js'
import { Writes } from './api/writes.js'
import {
  bucketOnceThere,
  closeServer,
  connect,
  deploymentMetrics,
  listen,
  makeStreams,
  never,
  openBooks,
  openBooksAlone,
  openHealth,
  openLedger,
  openView,
  portOf,
  reachOf,
  urlOf,
} from './app-parts.js'
import type { Parent, Role } from './child.js'
import type { Settings } from './config.js'
import { now } from './core/clock.js'
import type { Failing } from './core/health.js'
import { metricsSnapshot, metricsText } from './core/metrics.js'
import type { Nats } from './core/nats.js'
import { ReleaseStack } from './core/release.js'
import { Sealer } from './core/seal.js'
import { secretKey } from './core/secret-key.js'
import { Deliverer } from './deliver/deliverer.js'
import { deliveriesStream } from './deliver/destination-run.js'
import { PackWriter } from './deliver/pack.js'
import { destinationOperations, statusSubject } from './destination-operations.js'
import type { Verdict } from './evaluate/evaluate.js'
import type { Warning } from './evaluate/ip-restriction.js'
import { auditKinds } from './event/audit.js'
import { checkSource } from './event/catalog.js'
import { Janitor } from './ingest/janitor.js'
import { StreamWatch } from './ingest/stream-watch.js'
import { auditInStream, recordsStream, reservedBytes, whenStream } from './ingest/streams.js'
import { AuditInPipeline } from './pipeline/audit-in-run.js'
import { AuditPipeline } from './pipeline/audit-run.js'
import { Configuration } from './pipeline/configuration.js'
import { agentSubject, connectionSubject, decide, decideAgent } from './pipeline/decide.js'
import { FailureReports, notedOf } from './pipeline/failure-reports.js'
import { processMessage } from './pipeline/process-record.js'
import { Quarantine, quarantineTimes } from './pipeline/quarantine.js'
import { tryRecords } from './pipeline/quarantine-child.js'
import { Pipeline } from './pipeline/run.js'
import { openGeo } from './record/geo.js'
import { resources } from './resource/registry.js'
import { tcpAddressSpace } from './resource/tcp-address.js'
import { auditStream } from './store/audit-relay.js'
import type { Clickhouse } from './store/clickhouse.js'
import { destinationsIn } from './store/destinations.js'
import { bucketNames } from './store/keys.js'
import type { Store } from './store/open-store.js'
import { SecretsView } from './store/secrets-view.js'
import { hasAccounts } from './store/stored-rows.js'
import type { Surroundings } from './surroundings.js'

// --- the store, as the API and the command line use it ---

export interface StoreParts {
  readonly store: Store
  readonly writes: Writes
  readonly presenter: Presenter
  readonly nats: Nats
  readonly sealer: Sealer
  readonly clickhouse: Clickhouse
  /** What was lost with a NATS store that was found wiped, as a sentence. */
  readonly loss: string | undefined
}

export async function openDatabase({ clickhouse, data }: Settings): Promise<Clickhouse> {
  const { openClickhouse } = await import('./store/clickhouse.js')
  return openClickhouse({ url: clickhouse.url, directory: join(data.dir, 'clickhouse') })
}

export async function openStoreParts(
  at: Surroundings,
  baseUrl: () => string,
  release: ReleaseStack,
): Promise<StoreParts> {
  const { openStore } = await import('./store/open-store.js')
  const { settings, occurrences } = at
  const sealer = new Sealer(secretKey(settings.data))
  const clickhouse = release.own(await openDatabase(settings))
  const nats = release.own(await connect(at, 'api'))
  const loss = await makeStreams(at, nats, await hasAccounts(clickhouse))
  const presenter = new Presenter(new BaseLinks(baseUrl))
  const store: Store = await openStore({
    clickhouse,
    nats,
    resources,
    occurrences,
    keyFingerprint: sealer.fingerprint,
    bucketBytesMax: reservedBytes(settings.nats.storageMaxBytes),
    renderRules: (rows, stateOf) => renderRules(rows, presenter, stateOf),
  })
  release.own(store)
  const tcpAddresses = tcpAddressSpace(settings.api.tcpDomain)
  const sourceProblem = (source: unknown) => checkSource(source as never, auditKinds)
  return {
    store,
    writes: new Writes({ presenter, sealer, store, tcpAddresses, sourceProblem }),
    presenter,
    nats,
    sealer,
    clickhouse,
    loss,
  }
}

// --- roles ---

export interface OpenedApi extends Role {
  readonly parts: StoreParts
}

export async function openApi(at: Surroundings, parent: Parent | undefined): Promise<OpenedApi> {
  // Loading blocks: once the store is open, its health is watched.
  const { buildApi } = await import('./api/server.js')
  const { settings, registry, occurrences } = at
  const release = new ReleaseStack()
  const { host, port, baseUrl } = settings.api
  let base = baseUrl ?? urlOf(host, port)
  const parts = await openStoreParts(at, () => base, release)
  const { store, nats, sealer } = parts
  const secrets = release.own(
    new SecretsView(await nats.openBucket(bucketNames.secrets, reservedBytes(settings.nats.storageMaxBytes))),
  )
  await secrets.open()
  const books = release.own(await openBooks(at, nats))
  const streams = release.own(
    new StreamWatch({
      nats,
      makeStreams: async () => void (await makeStreams(at, nats, store.view.latest.accounts.size > 0)),
    }),
  )
  const failing = async (): Promise<Failing> => {
    const { refusal } = store
    const own = { ...streams.failing, ...(refusal === undefined ? {} : { store: refusal }) }
    return parent === undefined ? own : { ...(await parent.ask('failing')), ...own }
  }
  const metrics = async (): Promise<string> => {
    const own = parent === undefined ? await metricsText(registry) : await parent.ask('metrics')
    return own + deploymentMetrics(books, store.view)
  }
  const app = await buildApi({
    context: { store, writes: parts.writes, presenter: parts.presenter },
    view: store.view,
    destinations: destinationOperations({ nats, books, secrets, sealer, aws: reachOf(settings) }),
    occurrences,
    baseUrl,
    versionHeaders: settings.api.versionHeaders,
    rateLimitPerMinute: settings.api.rateLimitPerMinute,
    trustedProxies: settings.api.trustedProxies ?? [],
    health: { failing, metrics },
  })
  release.add(() => closeServer(app))
  const decided = (request: Uint8Array) => answerDecision(parts, request, occurrences)
  release.own(nats.answer(decideSubject, 'api', decided))
  await listen(app, host, port)
  const url = urlOf(host, portOf(app.server.address()) ?? port)
  base = baseUrl ?? url
  return {
    parts,
    addresses: { api: url },
    metrics: async () => [await metricsSnapshot(registry)],
    close: () => release.release(),
  }
}

/** Processes that a pipeline runs beside itself. */
export interface PipelineProcesses {
  readonly openDecider: () => Promise<Pick<Role, 'metrics' | 'close'>>
  readonly forkQuarantine: () => ChildProcess
}

export async function openPipeline(
  at: Surroundings,
  parent: Parent | undefined,
  processes: PipelineProcesses,
): Promise<Role> {
  const { settings, registry, occurrences } = at
  const release = new ReleaseStack()
  const health = await openHealth(at, parent, release)
  const nats = release.own(await connect(at, 'pipeline'))
  const geo = await openGeo(settings.geo.databases)
  const view = release.own(await openView(at, nats))
  const configuration = release.own(new Configuration(view, occurrences))
  await configuration.open()
  for (const stream of [auditStream, auditInStream, recordsStream]) await whenStream(nats, stream, never)
  const ledger = release.own(openLedger(at, nats))
  const books = await openBooksAlone(at, parent, release, nats)
  const isDestination = (id: string): boolean | undefined =>
    view.isUsable ? view.state.rows.get('event_destination')?.has(id) === true : undefined
  release.own(new Janitor({ nats, ledger, occurrences, isDestination }))
  const audit = release.own(new AuditPipeline({ nats, view, ledger, occurrences }))
  audit.open()
  const auditIn = release.own(new AuditInPipeline({ nats, view, ledger, occurrences }))
  auditIn.open()
  const quarantine = release.own(new Quarantine({ ...quarantineTimes, fork: processes.forkQuarantine }))
  const pipeline = release.own(new Pipeline({ nats, configuration, geo, ledger, occurrences, quarantine }))
  pipeline.open()
  const decider = release.own(await processes.openDecider())
  const snapshots = async () => [await metricsSnapshot(registry), ...(await decider.metrics())]
  health.started(nats, view, books)
  return { addresses: {}, metrics: snapshots, close: () => release.release() }
}

export async function openDecide(at: Surroundings): Promise<Role> {
  const { settings, registry, occurrences } = at
  const release = new ReleaseStack()
  const nats = release.own(await connect(at, 'decide'))
  const geo = await openGeo(settings.geo.databases)
  const view = release.own(await openView(at, nats))
  const configuration = release.own(new Configuration(view, occurrences))
  await configuration.open()
  const policySet = () => configuration.current.policySet
  const reports = release.own(new FailureReports(occurrences, 'decision'))
  const note = (verdict: Verdict): void => reports.add(notedOf(verdict))
  release.own(nats.answer(connectionSubject, 'decide', (request) => decide(policySet(), geo, request, note)))
  const warned = (warning: Warning): void => reports.add(notedOf({ failures: [], warnings: [warning] }))
  release.own(nats.answer(agentSubject, 'decide', (request) => decideAgent(policySet(), request, warned)))
  return {
    addresses: {},
    metrics: async () => [await metricsSnapshot(registry)],
    close: () => release.release(),
  }
}

/** Where a record is tried that may end its process: a child of a pipeline, and nothing else. */
export async function openQuarantine(at: Surroundings): Promise<void> {
  await using release = new ReleaseStack()
  const nats = release.own(await connect(at, 'quarantine'))
  const geo = await openGeo(at.settings.geo.databases)
  const view = release.own(await openView(at, nats))
  const configuration = release.own(new Configuration(view, at.occurrences))
  await configuration.open()
  await tryRecords((bytes) => {
    const buffers = { packOf: () => new PackWriter() }
    processMessage({ bytes, storedAtMs: now() }, { view: configuration.current, geo, buffers })
  })
}

export async function openDeliver(at: Surroundings, parent: Parent | undefined): Promise<Role> {
  const { settings, registry, occurrences } = at
  const release = new ReleaseStack()
  const health = await openHealth(at, parent, release)
  const nats = release.own(await connect(at, 'deliver'))
  const sealer = new Sealer(secretKey(settings.data))
  const view = release.own(await openView(at, nats))
  await view.usable
  const secrets = release.own(new SecretsView(await bucketOnceThere(nats, bucketNames.secrets)))
  await secrets.open()
  await whenStream(nats, deliveriesStream, never)
  const ledger = release.own(openLedger(at, nats))
  const books = await openBooksAlone(at, parent, release, nats)
  const deliverer = release.own(
    new Deliverer({ nats, ledger, occurrences, openSender: reachOf(settings).openSender }),
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
  const answer = (request: Uint8Array): string => {
    const status = deliverer.statusOf(Buffer.from(request).toString())
    return status === undefined ? '' : JSON.stringify(status)
  }
  release.own(nats.answer(statusSubject, undefined, answer))
  health.started(nats, view, books)
  return {
    addresses: {},
    metrics: async () => [await metricsSnapshot(registry)],
    close: () => release.release(),
  }
}
