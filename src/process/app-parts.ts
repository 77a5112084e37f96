/** Parts that several roles share. */

import { BooksKeeper } from '../books/keeper.js'
import { LedgerWriter } from '../books/ledger.js'
import { sleep } from '../core/clock.js'
import { messageOf, StartFault } from '../core/errors.js'
import { type Listening, listenFault } from '../core/http-listen.js'
import { metricsSnapshot } from '../core/metrics.js'
import type { ReleaseStack } from '../core/release.js'
import { version } from '../core/version.js'
import { checkRole, requestTimeoutMsDefault } from '../deliver/aws.js'
import { openSender } from '../deliver/kinds.js'
import type { DestinationAccess } from '../deliver/test-event.js'
import type { Bucket } from '../nats/bucket.js'
import { type Nats, openNats } from '../nats/nats.js'
import { View } from '../view/view.js'
import { booksBucket, bucketNames, ledgerStream } from '../wire/names.js'
import { ensureStreams, lossOf, reservedBytes, whenStream } from '../wire/streams.js'
import type { Parent, Role } from './child.js'
import { type OpsServerOptions, openOpsServer } from './ops-server.js'
import { Readiness } from './readiness.js'
import type { RoleContext } from './role-context.js'
import type { Settings } from './settings.js'

export const connect = ({ settings, occurrences }: RoleContext, role: string): Promise<Nats> => {
  const { servers, replicas, inboxPrefix } = settings.nats
  if (servers === undefined) throw new Error(`The role ${role} needs NATS_URL.`)
  return openNats({ servers, replicas, inboxPrefix, name: `weir ${role}`, occurrences })
}

/** Opens the server that says how a role is; the API answers on it, too, once it is there. */
export async function openRoleServer(
  { settings, logger }: RoleContext,
  readiness: Readiness,
  options: Pick<OpsServerOptions, 'port' | 'otherwise' | 'http'>,
): Promise<Listening> {
  if (settings.nats.servers === undefined)
    throw new StartFault(
      'NATS_URL is not set: a role on its own needs it, only `weir serve` runs a NATS server.',
    )
  const { host } = settings.api
  const server = await openOpsServer({
    ...options,
    host,
    failing: () => readiness.failing(),
    metrics: () => readiness.metrics(),
  }).catch((error: unknown) => {
    throw listenFault(error, host, options.port)
  })
  logger.info({ url: server.url, version, node: process.version }, 'Health and metrics are served.')
  return server
}

/** Whether a role without the API is ready; it says so itself if no supervisor speaks for it. */
export async function openReadiness(
  context: RoleContext,
  parent: Parent | undefined,
  release: ReleaseStack,
): Promise<Readiness> {
  const readiness = new Readiness(context, parent, release)
  if (parent === undefined)
    release.own(await openRoleServer(context, readiness, { port: context.settings.ops.port }))
  return readiness
}

/** What roles without the API find only after it has started once. */
export const workOfTheApi = 'an API to make the streams and buckets'

/** A role whose parts are open. An API answers for itself and needs no supervisor to ask it. */
export const roleOf = ({ registry }: RoleContext, readiness?: Readiness): Role => ({
  addresses: {},
  failing: () => readiness?.own() ?? {},
  metrics: async () => [await metricsSnapshot(registry)],
})

export async function openView({ occurrences }: RoleContext, nats: Nats): Promise<View> {
  const view = new View(await bucketOnceThere(nats, bucketNames.config), occurrences)
  await view.open()
  return view
}

export async function openBooks({ occurrences, settings }: RoleContext, nats: Nats): Promise<BooksKeeper> {
  await whenStream(nats, ledgerStream, new AbortController().signal)
  const makeBucket = () => nats.openBucket(booksBucket, reservedBytes(settings.nats.storageMaxBytes))
  const keeper = new BooksKeeper(nats, await makeBucket(), makeBucket, occurrences)
  await keeper.open()
  return keeper
}

/**
 * Makes the streams that are missing. A deployment that was in use before has lost these, which is reported at once:
 * the next start finds them there. Resolves with the loss as a sentence.
 */
export async function makeStreams(
  { settings, occurrences }: RoleContext,
  nats: Nats,
  isInUse: boolean,
): Promise<string | undefined> {
  const made = await ensureStreams(nats, settings.nats)
  const loss = isInUse ? lossOf(made) : undefined
  if (loss !== undefined) occurrences.natsStoreLost({ loss })
  return loss
}

/** For what is waited for as long as it takes. */
export const never = new AbortController().signal

/** A role that runs alone speaks of the books; below a supervisor, the API does. */
export async function openBooksAlone(
  context: RoleContext,
  parent: Parent | undefined,
  release: ReleaseStack,
  nats: Nats,
): Promise<BooksKeeper | undefined> {
  if (parent !== undefined) return undefined
  // An API makes the bucket, and makes it again if it is deleted.
  const keeper = new BooksKeeper(
    nats,
    await bucketOnceThere(nats, booksBucket),
    async () => {},
    context.occurrences,
  )
  await keeper.open()
  return release.own(keeper)
}

export const openLedger = ({ occurrences }: RoleContext, nats: Nats): LedgerWriter =>
  new LedgerWriter(nats, (error) => occurrences.ledgerUnwritten({ reason: messageOf(error) }))

const lookAgainMs = 300

/** A bucket that the API makes, in its own time. */
export async function bucketOnceThere(nats: Nats, name: string): Promise<Bucket> {
  for (;;) {
    const bucket = await nats.findBucket(name)
    if (bucket !== undefined) return bucket
    await sleep(lookAgainMs)
  }
}

/** How destinations are reached under these settings. */
export function destinationAccess({ aws, destinationKinds: kinds }: Settings): DestinationAccess {
  const delivery = { kinds, aws, requestTimeoutMs: requestTimeoutMsDefault }
  return {
    openSender: (config) => openSender(config, delivery),
    checkRole: (config, signal) => checkRole(config, delivery, signal),
  }
}
