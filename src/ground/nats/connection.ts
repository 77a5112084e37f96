/** The connection to NATS: its options, and reports of what happens to it. */
import type { NatsConnection } from '@nats-io/nats-core'
import { connect, type NodeConnectionOptions } from '@nats-io/transport-node'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import { fileAuthenticator, type LoginFiles, passwordIn, serverUrl, tlsOptions } from './login-files.js'
import { type VersionOccurrences, VersionReports } from './server-versions.js'

type NatsOccurrences = Pick<
  Occurrences,
  | 'natsRequestFailed'
  | 'natsDisconnected'
  | 'natsReconnected'
  | 'natsError'
  | 'natsCallRetried'
  | 'entryDamaged'
> &
  VersionOccurrences

/** Opens one connection, as the library does. */
export type ConnectNats = (options: NodeConnectionOptions) => Promise<NatsConnection>

export interface NatsOptions {
  /** Addresses, credentials included (`nats://user:pass@host:4222`). */
  readonly servers: readonly string[]
  /** Shown in the server's connection list. */
  readonly name: string
  readonly replicas: number
  /** Files in place of a user and a password in the addresses, and those of TLS. */
  readonly files?: LoginFiles | undefined
  /** Prefix of reply inboxes, if the server's permissions confine a user to its own prefix. */
  readonly inboxPrefix?: string
  /** Fail if no server answers now, instead of waiting for one. */
  readonly isUpNow?: boolean
  /** Another process reports a version of the server that is outdated. */
  readonly isVersionReported?: boolean
  /** The directory for entries that can't be read; without it they are not kept. */
  readonly damagedDir?: string
  /** Without it nothing is reported; for tools outside of Weir. */
  readonly occurrences?: NatsOccurrences
  /** Takes a text, to go on with after a colon, for each attempt to connect that failed. */
  readonly unreachable?: (reason: string) => void
  /** Takes the place of sockets: a simulation has servers of its own. */
  readonly connect?: ConnectNats | undefined
}

/** The library's default is 20 s. */
const connectTimeoutMs = 10_000

/** Opens one connection. */
export const connectionBy = ({ connect: own = connect }: Pick<NatsOptions, 'connect'>): ConnectNats => own

/** Options for servers as in the settings, and for reconnecting as long as the process runs. */
export function connectionOptions(options: NatsOptions): NodeConnectionOptions {
  const urls = options.servers.map((server) => new URL(serverUrl(server)))
  const login = urls[0] === undefined || urls[0].username === '' ? undefined : passwordIn(urls[0])
  const { files = {}, occurrences } = options
  const tls = tlsOptions(files, urls)
  // A user in the address takes precedence over other files than that of the address.
  const authenticator = fileAuthenticator(
    login === undefined ? { ...files, url: undefined } : { url: files.url },
    (reason) => occurrences?.natsError({ reason }),
  )
  return {
    servers: urls.map((url) => url.host),
    name: options.name,
    ...(authenticator === undefined ? login : { authenticator }),
    ...(tls === undefined ? {} : { tls }),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    maxReconnectAttempts: -1,
    timeout: connectTimeoutMs,
    // A login that is refused now may be that of a moment ago, before a password or a file was replaced.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 10_000,
    maxPingOut: 2,
    waitOnFirstConnect: options.isUpNow !== true,
    // Capturing a stack trace for each request, in case it fails, takes longer than the request.
    noAsyncTraces: true,
  }
}

/** Reports disconnects, reconnects, errors, and the server's version. */
export class NatsStatus {
  readonly #connection: NatsConnection
  readonly #occurrences: NatsOptions['occurrences']
  readonly #versions: VersionReports
  readonly #reconnected = new Set<() => void>()
  readonly #disconnected = new Set<() => void>()
  #isUp = true

  /** `connection` is established. */
  constructor(
    connection: NatsConnection,
    { occurrences, isVersionReported }: Pick<NatsOptions, 'occurrences' | 'isVersionReported'>,
  ) {
    this.#connection = connection
    this.#occurrences = occurrences
    this.#versions = new VersionReports(occurrences, isVersionReported)
    this.#versions.note(connection.info?.version)
    // The iterator ends with the connection; its errors add nothing to what the connection reports.
    this.#follow().catch(() => {})
  }

  get isConnected(): boolean {
    return this.#isUp && !this.#connection.isClosed()
  }

  /** Calls back after each reconnect; the result unsubscribes. */
  onReconnect(listener: () => void): () => void {
    this.#reconnected.add(listener)
    return () => this.#reconnected.delete(listener)
  }

  /** Calls back whenever the connection is lost. */
  onDisconnect(listener: () => void): void {
    this.#disconnected.add(listener)
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'error') this.#occurrences?.natsError({ reason: status.error.message })
      if (status.type === 'disconnect') {
        this.#isUp = false
        this.#occurrences?.natsDisconnected({ server: status.server })
        for (const listener of this.#disconnected) listener()
      }
      if (status.type !== 'reconnect') continue
      this.#isUp = true
      this.#occurrences?.natsReconnected({ server: status.server })
      this.#versions.note(this.#connection.info?.version)
      for (const listener of this.#reconnected) listener()
    }
  }
}
