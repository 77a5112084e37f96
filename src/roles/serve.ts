/**
 * Start here: this room is the composition root, where the whole system is visible. A role is a page, which puts it
 * together from its parts: each gets what it needs as an argument, and what was opened is closed in reverse order.
 *
 *     api.ts       resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events; the command line
 *     pipeline.ts  records ▸ walk ▸ packs; audit events, Weir's own and those of other services ▸ packs
 *     decide.ts    weir.decide, weir.decide.agent; decisions over HTTP for proxies
 *     deliver.ts   packs ▸ AWS
 *     children.ts  processes that a role starts for one purpose
 *
 * `weir serve`, this file, runs all four as processes, some as several, stopped in order, and a nats-server unless one is
 * configured.
 */
import { existsSync, readdirSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { availableParallelism } from 'node:os'
import { natsServerMissing } from '../delivery/nats-server/find-nats-server.mjs'
import { isPortFree } from '../delivery/nats-server/nats-probe.js'
import { natsUserOf } from '../delivery/nats-server/role-users.js'
import { openGeo } from '../delivery/record/geo.js'
import { StartFault } from '../ground/core/errors.js'
import { listenFault, listenHttp } from '../ground/core/http-listen.js'
import { version } from '../ground/core/package.js'
import { ReleaseStack } from '../ground/core/release.js'
import { stopSignal } from '../management/process/child.js'
import { lockDataDir } from '../management/process/lock.js'
import type { RoleContext } from '../management/process/role-context.js'
import type { ChildRole } from '../management/process/role-secrets.js'
import { withoutCredentials } from '../management/process/setting-value.js'
import {
  describeChanged,
  describeSettings,
  localNatsServer,
  type Settings,
} from '../management/process/settings.js'
import { type RoleSpec, Supervisor } from '../management/process/supervisor.js'
import { embeddedFault } from '../management/store/clickhouse/embedded.js'
import { announceApi, announceDecisions } from './announce.js'
import { localNatsEnvironment, openLocalNats } from './local-nats.js'
import { type Program, roleSpec, workerNames } from './programs.js'

/** A worker of each role takes up to a core; nats-server, the API and decisions need about as much together. */
const coresPerWorker = 4
const workersByCores = (): number => Math.max(1, Math.floor(availableParallelism() / coresPerWorker))

/**
 * MiB for new objects from the start: fewer are alive when V8 collects them, and a read costs up to a sixth less CPU than
 * with Node's default. Other roles gain nothing. And MiB of old objects and buffers, as for workers: rows of the decision
 * log come in messages of 200 KB.
 */
const apiNodeOptions = ['--min-semi-space-size=16', '--initial-old-space-size=64']

/**
 * From this size on, glibc gives a buffer back to the system as soon as it is freed. By default it raises its bound to the
 * size of the largest buffer that was freed, 8 MiB after a large body, and keeps what lies between smaller ones for good.
 */
const apiMalloc = {
  MALLOC_MMAP_THRESHOLD_: String(4 * 2 ** 20),
  MALLOC_TRIM_THRESHOLD_: String(32 * 2 ** 20),
}

/**
 * MiB that old objects and buffers may take before V8 looks for garbage among them. Messages and packs are buffers: with
 * V8's default, a little traffic makes it mark all objects several times a second, which was a third of a deliverer's CPU
 * and a sixth of a pipeline's.
 */
const workerNodeOptions = ['--initial-old-space-size=128']
/**
 * A pipeline has a message for some hundred milliseconds. With V8's default of 16 MiB for new objects, its buffer is an old
 * one by then, and V8 marks the whole heap when some ten MiB of these have gone: with 100,000 edges, every second, for more
 * CPU than all records took. With more for new objects few become old, and with half of the heap between two markings these
 * are rare.
 */
const pipelineNodeOptions = [...workerNodeOptions, '--max-semi-space-size=64', '--heap-growing-percent=50']
/**
 * When nothing happened for eight seconds, V8 gives back memory, and a deliverer then takes a quarter more CPU per event
 * until it sent some hundred thousand. What is kept is 5 MiB more if there never was traffic.
 */
const delivererNodeOptions = [...workerNodeOptions, '--no-memory-reducer']

export async function serve(context: RoleContext, program: Program): Promise<void> {
  const stop = stopSignal()
  const { settings, logger, registry, occurrences } = context
  await using release = new ReleaseStack()
  if (context.telemetry !== undefined) release.own(context.telemetry)
  const { dir } = settings.data
  // A used directory is locked first: "in use by another Weir" explains a taken port better. In a new one nothing is made
  // before all else is found well.
  const isUsedBefore = isUsed(dir)
  if (isUsedBefore) release.own(lockDataDir(dir))
  await preflight(settings)
  if (!isUsedBefore) release.own(lockDataDir(dir))
  const { servers } = settings.nats
  const server = servers === undefined ? release.own(await openLocalNats(settings, occurrences)) : undefined
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`)
  }
  logger.info({ version, node: process.version }, 'Weir starts.')
  const changed = describeChanged(settings)
  if (Object.keys(changed).length > 0)
    logger.info({ settings: changed }, 'These settings differ from their defaults.')
  logger.debug({ settings: describeSettings(settings) }, 'The settings in use.')
  // Each role connects as a user that may do only what the role does.
  const natsOf = (name: string) =>
    server === undefined ? {} : localNatsEnvironment(server, natsUserOf(name))
  const role = (name: ChildRole, more: RoleSpec['env'] = () => ({})): RoleSpec =>
    roleSpec(program, name, (last) => ({ ...natsOf(name), ...more(last) }))
  const workers = (name: ChildRole, count: number | undefined, nodeOptions: readonly string[]): RoleSpec[] =>
    workerNames(name, count ?? workersByCores()).map((worker) => ({
      ...role(name),
      name: worker,
      nodeOptions,
    }))
  say(`nats: ${server?.urlOf('ingress') ?? withoutCredentials(String(servers))}`)
  const decide = role('decide', samePorts({ decide: 'WEIR_DECIDE_PORT' }))
  const { pipelines, deliverers } = settings.workers
  const ofTrials = server === undefined ? {} : { WEIR_TRIAL_NATS_URL_FILE: server.urlFileOf('trial') }
  const ofOps = settings.ops.apiPort === undefined ? {} : { ops: 'WEIR_API_OPS_PORT' }
  const apiPorts = samePorts({ api: 'WEIR_PORT', ...ofOps })
  const api = {
    ...role('api', (last) => ({ ...apiMalloc, ...ofTrials, ...apiPorts(last) })),
    nodeOptions: apiNodeOptions,
  }
  const supervisor = release.own(
    new Supervisor({
      // In stop order: each passes its remaining work to the roles after it.
      roles: [
        api,
        ...workers('pipeline', pipelines, pipelineNodeOptions),
        decide,
        ...workers('deliver', deliverers, delivererNodeOptions),
      ],
      occurrences,
      registry,
      failing: () => (server?.problem === undefined ? {} : { 'nats-server': server.problem }),
    }),
  )
  const isReady = await Promise.race([supervisor.ready.then(() => true), stop.then(() => false)])
  if (isReady) {
    const { api: url, ops } = supervisor.addressesOf('api')
    await announceApi(url!, ops!, dir)
    const { decide: decisions } = supervisor.addressesOf('decide')
    if (decisions !== undefined) announceDecisions(decisions)
  }
  await stop
  say('Stopping …')
}

/** One that can't be read is, too: locking it says why. */
function isUsed(dir: string): boolean {
  try {
    return readdirSync(dir).length > 0
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** A restarted process keeps its ports, which clients know. `settingOf`: the setting of each, by the name of its address. */
const samePorts =
  (settingOf: Readonly<Record<string, string>>): RoleSpec['env'] =>
  (last = {}) =>
    Object.fromEntries(
      Object.entries(last).flatMap(([name, url]) => {
        const setting = settingOf[name]
        return setting === undefined ? [] : [[setting, new URL(url).port]]
      }),
    )

/** The names are those of the settings of the port and its host. */
async function tryPort(host: string, port: number, portName: string, hostName: string): Promise<void> {
  const drop: RequestListener = (_request, response) => response.destroy()
  const listening = await listenHttp(host, port, drop).catch((error: unknown) => {
    throw listenFault(error, host, port, portName, hostName)
  })
  await listening.close()
}

/**
 * Checks of `weir serve` before it creates, starts or prints anything. They find faulty settings that its processes
 * would report only after a nats-server runs and the first account exists. The port is opened and closed again; the API
 * opens it before anything else. Throws a `StartFault`.
 */
async function preflight({ api, clickhouse, data, geo, nats, ops }: Settings): Promise<void> {
  await openGeo(geo.databases)
  const missing = clickhouse.url === undefined ? embeddedFault() : undefined
  if (missing !== undefined) throw new StartFault(missing)
  await tryPort(api.host, api.port, 'WEIR_PORT', 'WEIR_HOST')
  const opsHost = ops.host === api.host ? 'WEIR_HOST' : 'WEIR_OPS_HOST'
  if (ops.apiPort !== undefined) await tryPort(ops.host, ops.apiPort, 'WEIR_API_OPS_PORT', opsHost)
  if (nats.servers !== undefined) return
  if (localNatsServer() === undefined) throw new StartFault(natsServerMissing)
  // In a used directory, a leftover server may hold the port; it is ended later.
  if (nats.localPort !== 0 && !existsSync(data.dir) && !(await isPortFree(nats.localPort)))
    throw new StartFault(
      `Another process listens on port ${nats.localPort}: set WEIR_NATS_PORT to a free one.`,
    )
}
