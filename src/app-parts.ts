/** Parts that several roles share. */
import type { Server } from 'node:http'
import type { Parent } from './child.js'
import type { Settings } from './config.js'
import { after, sleep } from './core/clock.js'
import { messageOf } from './core/errors.js'
import type { Failing } from './core/health.js'
import { newId } from './core/ids.js'
import { metricsText } from './core/metrics.js'
import { type Nats, openNats } from './core/nats.js'
import type { Bucket } from './core/nats-bucket.js'
import type { ReleaseStack } from './core/release.js'
import { version } from './core/version.js'
import { checkRole, requestTimeoutMsDefault } from './deliver/aws.js'
import { BooksKeeper, booksBucket } from './deliver/books-keeper.js'
import { booksMetrics } from './deliver/books-metrics.js'
import { openSender } from './deliver/kinds.js'
import { LedgerWriter, ledgerStream } from './deliver/ledger.js'
import type { Reach } from './deliver/test-event.js'
import { StreamWatch } from './ingest/stream-watch.js'
import { ensureStreams, lossOf, reservedBytes, whenStream } from './ingest/streams.js'
import { openOpsServer } from './ops-server.js'
import { bucketNames } from './store/keys.js'
import { View } from './store/view.js'
import type { Surroundings } from './surroundings.js'

export const connect = ({ settings, occurrences }: Surroundings, role: string): Promise<Nats> => {
  const { servers, replicas, inboxPrefix } = settings.nats
  if (servers === undefined) throw new Error(`The role ${role} needs NATS_URL.`)
  return openNats({ servers, replicas, inboxPrefix, name: `weir ${role}`, occurrences })
}

/** Requests under way may end; then connections that clients keep open are cut. */
export async function closeServer(app: { close(): Promise<unknown>; server: Server }): Promise<void> {
  const cut = after(requestsEndMs, () => app.server.closeAllConnections())
  await app.close()
  cut.stop()
}

const requestsEndMs = 2_000

export async function listen(
  app: { listen(at: { host: string; port: number }): Promise<unknown> },
  host: string,
  port: number,
): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    if ((error as { code?: string }).code !== 'EADDRINUSE') throw error
    throw new Error(
      `Another process listens on ${urlOf(host, port)}: set WEIR_PORT to a free port, or to 0 for any.`,
    )
  }
}

export const portOf = (address: string | { port: number } | null): number | undefined =>
  typeof address === 'object' && address !== null ? address.port : undefined

export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

/** What a role says of itself where it runs alone; below a supervisor, that one speaks for it. */
export interface Health {
  /** From here on the parts are looked at; before, the role is starting. */
  started(nats: Nats, view: View, books: BooksKeeper | undefined): void
}

/** Opened first, so that a role that waits for others tells so. */
export async function openHealth(
  at: Surroundings,
  parent: Parent | undefined,
  release: ReleaseStack,
): Promise<Health> {
  let parts: { nats: Nats; view: View; books: BooksKeeper | undefined; streams: StreamWatch } | undefined
  const started = (nats: Nats, view: View, books: BooksKeeper | undefined): void => {
    parts = { nats, view, books, streams: release.own(new StreamWatch({ nats })) }
  }
  if (parent !== undefined) return { started: () => {} }
  const { settings, registry, logger } = at
  const failing = (): Failing => {
    if (parts === undefined)
      return { start: 'The role is starting: it waits for NATS, or for an API to make the streams.' }
    return {
      ...parts.streams.failing,
      ...(parts.nats.isConnected ? {} : { nats: 'The connection to NATS is lost.' }),
      ...(parts.view.isUsable ? {} : { configuration: 'The configuration is not complete yet.' }),
    }
  }
  const metrics = async (): Promise<string> =>
    (await metricsText(registry)) +
    (parts?.books === undefined ? '' : deploymentMetrics(parts.books, parts.view))
  const server = await openOpsServer({ host: settings.api.host, port: settings.ops.port, failing, metrics })
  release.own(server)
  logger.info({ url: server.url, version, node: process.version }, 'Health and metrics are served.')
  return { started }
}

export const deploymentMetrics = (books: BooksKeeper, view: View): string =>
  booksMetrics(books.books, (id) => {
    const row = view.state.rows.get('event_destination')?.get(id)
    return row === undefined ? undefined : Object.keys(row['target'] as object)[0]
  })

export async function openView({ occurrences }: Surroundings, nats: Nats): Promise<View> {
  const view = new View(await bucketOnceThere(nats, bucketNames.config), occurrences)
  await view.open()
  return view
}

export async function openBooks({ occurrences, settings }: Surroundings, nats: Nats): Promise<BooksKeeper> {
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
  { settings, occurrences }: Surroundings,
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
  at: Surroundings,
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
    at.occurrences,
  )
  await keeper.open()
  return release.own(keeper)
}

export const openLedger = ({ occurrences }: Surroundings, nats: Nats): LedgerWriter =>
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

/** How AWS is reached under these settings. */
export function reachOf({ aws }: Settings): Reach {
  const deps = {
    endpoints: aws,
    requestTimeoutMs: requestTimeoutMsDefault,
    requestBytesMax: {
      kinesis: aws.kinesisRequestBytesMax,
      firehose: aws.firehoseRequestBytesMax,
      cloudwatch_logs: aws.logsRequestBytesMax,
    },
    workerSuffix: newId('').toLowerCase(),
  }
  return {
    openSender: (config) => openSender(config, deps),
    checkRole: (config, signal) => checkRole(config, deps, signal),
  }
}
