/**
 * Whether a role can do its work, and the server that reports it.
 *
 * The server of a role that runs alone, and always that of the API, listens before anything else is opened: it holds the
 * port, and reports the role as alive but not ready while it starts. Under a supervisor, the API reports for all
 * processes: it asks the supervisor, which asks the others.
 */

import type { BooksKeeper } from '../../delivery/books/keeper.js'
import { booksMetrics } from '../../delivery/books/metrics.js'
import { destinationKinds } from '../../delivery/deliver/kinds.js'
import { sleep, within } from '../../ground/core/clock.js'
import { StartFault } from '../../ground/core/errors.js'
import { type ListeningServer, listenFault } from '../../ground/core/http-listen.js'
import { version } from '../../ground/core/package.js'
import type { ReleaseStack } from '../../ground/core/release.js'
import type { Failing } from '../../ground/core/telemetry/health.js'
import { type MetricsSnapshot, metricsSnapshot, metricsText } from '../../ground/core/telemetry/metrics.js'
import type { DeclaredRow } from '../../words/resource/registry.js'
import type { View } from '../../words/view/view.js'
import type { Frame, Role } from './child.js'
import { type OpsServerOptions, openOpsServer } from './ops-server.js'
import type { RoleContext } from './role-context.js'
import { StreamWatch, type StreamWatchOptions } from './stream-watch.js'
import { parentAnswerMs, type Supervisor } from './supervisor.js'
import { WriteWatch, type Written } from './write-watch.js'

/** The parts that a role needs to do its work. */
interface Needs extends Omit<StreamWatchOptions, 'occurrences'> {
  readonly view: View
  /** If given, its metrics include the deployment's books. */
  readonly books?: BooksKeeper | undefined
  /** The streams that it writes; undefined if it only reads. */
  readonly written?: Written
  /** Further parts that don't work. */
  readonly failing?: () => Failing
  /** Processes that this role runs for itself. */
  readonly below?: Supervisor | undefined
}

interface Measured {
  measured(): Promise<void>
}

interface Watched extends Needs {
  readonly watch: StreamWatch
  readonly writes: WriteWatch
  /** Whether the role can write is known then, or it takes long. */
  readonly firstLook: Promise<unknown>
}

/** A server that answers at all says sooner what it stores; who asks whether the role is ready does not wait much longer. */
const firstLookMs = 500

export class Readiness {
  readonly #context: RoleContext
  readonly #parent: Frame['parent']
  readonly #release: ReleaseStack
  #waitsFor = (): string => 'NATS'
  #measured: readonly Measured[] = []
  #parts: Watched | undefined

  /** `release` closes everything that is opened to watch the role's parts. */
  constructor(context: RoleContext, parent: Frame['parent'], release: ReleaseStack) {
    this.#context = context
    this.#parent = parent
    this.#release = release
  }

  /** Names what the role waits for while it starts. */
  readonly waitsFor = (what: string | (() => string)): void => {
    this.#waitsFor = typeof what === 'string' ? () => what : what
  }

  /** As a clause. */
  get waited(): string {
    return this.#waitsFor()
  }

  /** A role that starts uses no configuration before it is complete. */
  waitsForView(view: View): void {
    this.waitsFor(() => (view.isUsable ? 'streams and buckets' : `a complete configuration: ${view.lack}`))
  }

  /** This part updates its metrics before they are read. */
  measures(part: Measured): void {
    this.#measured = [...this.#measured, part]
  }

  /** Resolves when everything the role needs works for the first time; it is watched from then on. */
  async started(needs: Needs): Promise<void> {
    const { occurrences } = this.#context
    const watch = this.#release.own(new StreamWatch({ ...needs, occurrences }))
    const writes = this.#release.own(new WriteWatch({ ...needs, occurrences }))
    this.waitsFor('JetStream')
    await watch.first()
    const firstLook = Promise.race([writes.look(), sleep(firstLookMs)])
    this.#parts = { ...needs, watch, writes, firstLook }
    this.measures(watch)
  }

  /** Parts of this process that don't work. */
  async own(): Promise<Failing> {
    if (this.#parts === undefined) return { start: `The role is starting: it waits for ${this.waited}.` }
    const { watch, writes, firstLook, view, failing, below } = this.#parts
    await firstLook
    const [processes, streams] = await Promise.all([below?.failing(), watch.failing()])
    return {
      ...failing?.(),
      ...processes,
      ...writes.failing,
      ...streams,
      ...(view.isUsable ? {} : { configuration: `The configuration is not complete yet: ${view.lack}.` }),
    }
  }

  /** Parts of this process that work for some accounts only. */
  degraded(): Failing {
    const { size } = this.#parts?.view.withheld ?? new Set()
    return size === 0 ? {} : { accounts: repairedText(size) }
  }

  /** Failing parts of this process and of the others of its supervisor. */
  async failing(): Promise<Failing> {
    const [others, own] = await Promise.all([this.#others(), this.own()])
    return { ...others, ...own }
  }

  async #others(): Promise<Failing> {
    if (this.#parent === undefined) return {}
    try {
      return await within(parentAnswerMs, this.#parent.ask('failing'), 'late')
    } catch {
      return { serve: 'The process that supervises this one does not answer.' }
    }
  }

  async #measure(): Promise<void> {
    await Promise.all(this.#measured.map((part) => part.measured()))
  }

  /** The metrics of this process, with its streams as they are now. */
  async snapshot(): Promise<MetricsSnapshot> {
    await this.#measure()
    return metricsSnapshot(this.#context.registry)
  }

  /** Whose metrics these are: those of a supervisor's processes are added up. */
  get of(): string {
    return this.#parent === undefined ? this.#context.role : 'serve'
  }

  /** Prometheus' text. */
  async metrics(): Promise<string> {
    if (this.#parent === undefined) await this.#measure()
    const { books, view, below } = this.#parts ?? {}
    const processes = await (this.#parent?.ask('metrics') ??
      below?.metrics() ??
      metricsText(this.#context.registry))
    return processes + (books === undefined || view === undefined ? '' : deploymentMetrics(books, view))
  }
}

function deploymentMetrics(books: BooksKeeper, { state }: View): string {
  const targetOf = (id: string): string | undefined => {
    const row = state.rows.get('event_destination')?.get(id)
    return row === undefined ? undefined : Object.keys(row['target'] as object)[0]
  }
  const targets = destinationKinds.map(({ name }) => name)
  return booksMetrics(books.books, targetOf, { targets, sources: subscribed(state, targetOf) })
}

function* subscribed(
  { rows }: View['state'],
  targetOf: (destinationId: string) => string | undefined,
): Generator<{ readonly kind: string; readonly target: string }> {
  for (const row of rows.get('event_subscription')?.values() ?? []) {
    const { sources, destination_ids } = row as unknown as DeclaredRow<'event_subscription'>
    const targets = new Set(destination_ids.flatMap((id) => targetOf(id) ?? []))
    for (const { type: kind } of sources) for (const target of targets) yield { kind, target }
  }
}

type RoleServerOptions = Pick<OpsServerOptions, 'otherwise' | 'http'>

interface ApiServers {
  /** The API answers on it once it is built. */
  readonly listening: ListeningServer
  /** The address of health and metrics. */
  readonly opsUrl: string
}

/** Opens the servers of the API: one, unless health and metrics have a port of their own. */
export async function openApiServers(
  context: RoleContext,
  readiness: Readiness,
  options: RoleServerOptions,
  release: ReleaseStack,
): Promise<ApiServers> {
  const { api, ops } = context.settings
  const listening = release.own(
    await openServer(context, readiness, {
      ...options,
      ...api,
      setting: 'WEIR_PORT',
      isHealthElsewhere: ops.apiPort !== undefined,
    }),
  )
  if (ops.apiPort === undefined) return { listening, opsUrl: listening.url }
  const own = { host: ops.host, port: ops.apiPort, setting: 'WEIR_API_OPS_PORT' }
  const { url } = release.own(await openServer(context, readiness, own))
  return { listening, opsUrl: url }
}

interface ServerOptions
  extends RoleServerOptions,
    Pick<OpsServerOptions, 'host' | 'port' | 'isHealthElsewhere'> {
  /** The name of the setting of its port. */
  readonly setting: string
}

/** Opens a server that reports a role's health, unless that is done elsewhere. */
async function openServer(
  { settings, logger, occurrences, telemetry }: RoleContext,
  readiness: Readiness,
  { setting, ...options }: ServerOptions,
): Promise<ListeningServer> {
  if (settings.nats.servers === undefined)
    throw new StartFault(
      'NATS_URL is not set: a role on its own needs it, only `weir serve` runs a NATS server.',
    )
  const server = await openOpsServer({
    ...options,
    connectionRefused: (because) => occurrences.connectionRefused({ because }),
    failing: () => readiness.failing(),
    degraded: () => readiness.degraded(),
    metrics: () => readiness.metrics(),
  }).catch((error: unknown) => {
    const hostSetting = options.host === settings.api.host ? 'WEIR_HOST' : 'WEIR_OPS_HOST'
    throw listenFault(error, options.host, options.port, setting, hostSetting)
  })
  telemetry?.exportMetrics(readiness.of, () => readiness.metrics())
  if (!options.isHealthElsewhere)
    logger.info({ url: server.url, version, node: process.version }, 'Health and metrics are served.')
  return server
}

/** The readiness of a role other than the API. It opens a server unless a supervisor reports for it. */
export async function openReadiness(
  context: RoleContext,
  parent: Frame['parent'],
  release: ReleaseStack,
): Promise<Readiness> {
  const readiness = new Readiness(context, parent, release)
  const { host, port } = context.settings.ops
  if (parent === undefined)
    release.own(await openServer(context, readiness, { host, port, setting: 'WEIR_OPS_PORT' }))
  return readiness
}

export const repairedText = (accounts: number): string =>
  accounts === 1
    ? 'An account is being brought up to date from ClickHouse; its requests get 503 until then.'
    : `${accounts} accounts are being brought up to date from ClickHouse; their requests get 503 until then.`

/** The other roles find streams and buckets only after an API has started once. */
export const firstApiStart = 'an API to create the streams and buckets'

/** A role whose parts are open. */
export const roleOf = (readiness: Readiness): Role => ({
  addresses: {},
  failing: () => readiness.own(),
  metrics: async () => [await readiness.snapshot()],
})
