/**
 * The role `api`: resources over HTTP ▸ heads ▸ ClickHouse ▸ configuration bucket; audit events; the command line.
 *
 * Large parts (the store, the HTTP server) are loaded after the port has opened, which then answers that the role
 * starts.
 */
import { abuseDecisionSubject } from '../delivery/wire/names.js'
import { unavailable } from '../ground/core/errors.js'
import type { ReleaseStack } from '../ground/core/release.js'
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
import { announceApi, makeFirstAccount } from './announce.js'
import type { OpenedDoctor } from './doctor-parts.js'
import { ingressAddress } from './local-nats.js'
import { forkTrial, type Program } from './programs.js'
import type { StoreParts } from './store-parts.js'
import type { WayIn } from './way-in.js'

export async function openApi(context: RoleContext, frame: Frame, program: Program): Promise<Role> {
  const { parent, release } = frame
  const { settings, occurrences, eventKinds } = context
  const readiness = new Readiness(context, parent, release)
  const otherwise = () => unavailable(`The API is starting: it waits for ${readiness.waited}.`)
  const options = { otherwise, http: connectionLimits }
  const { listening, opsUrl } = await openApiServers(context, readiness, options, release)
  // Loading blocks: once the store is open, its health is watched.
  const { buildApi } = await import('../management/api/server.js')
  const { openWayIn } = await import('./way-in.js')
  const { openWork } = await import('./api-work.js')
  const baseUrl = () => settings.api.baseUrl ?? listening.url
  const work = await openWork(context, frame, { readiness, addresses: { api: listening.url }, baseUrl })
  const { parts, geo, jobs, ...served } = work
  const wayIn = await openWayIn(context, parts, release)
  const { openDoctor } = await import('./doctor-parts.js')
  const opened = openDoctor(context, parts, { ...work, readiness })
  const app = await buildApi({
    context: parts,
    view: parts.store.view,
    destinations: served.destinations,
    doctor: opened.doctor,
    geo,
    live: served.live,
    lag: served.lag,
    ...servedParts(parts),
    occurrences,
    baseUrl: settings.api.baseUrl,
    eventKinds,
    replays: served.replays,
    trials: await openTrialsOf(jobs, context, program, release),
    versionHeaders: settings.api.versionHeaders,
    ...wayIn,
    trustedProxies: settings.api.trustedProxies ?? [],
    // 0: whichever is free, which only the process that listens knows.
    decidePort: settings.decide.port || undefined,
    listening,
  })
  release.add(() => Promise.all([listening.close(requestsEndMs), app.close()]))
  release.own(work.live)
  await openCommands(context, parts, { ...wayIn, ...opened, apiUrl: listening.url }, release)
  await makeFirstAccount(context, parts)
  await work.declareReady()
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

/** Trials of drafts, each in a process of its own. */
async function openTrialsOf(
  options: JobOptions,
  { settings, occurrences }: RoleContext,
  program: Program,
  release: ReleaseStack,
) {
  const { openTrials } = await import('../management/insight/trials.js')
  const start = trialStarter(() => forkTrial(program, settings))
  return release.own(await openTrials({ ...options, start, occurrences }))
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
