/** Options of the connection to NATS. */
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import type { Occurrences } from '../core/telemetry/occurrences.js'
import type { VersionOccurrences } from './server-versions.js'

type NatsOccurrences = Pick<
  Occurrences,
  'natsRequestFailed' | 'natsDisconnected' | 'natsReconnected' | 'natsError' | 'natsCallRetried'
> &
  VersionOccurrences

export interface NatsOptions {
  /** Addresses, credentials included (`nats://user:pass@host:4222`). */
  readonly servers: readonly string[]
  /** Shown in the server's connection list. */
  readonly name: string
  readonly replicas: number
  /** Prefix of reply inboxes, if the server's permissions confine a user to its own prefix. */
  readonly inboxPrefix?: string
  /** Another process reports a version of the server that is outdated. */
  readonly isVersionReported?: boolean
  /** Without it nothing is reported; for tools outside of Weir. */
  readonly occurrences?: NatsOccurrences
}

/** Options for servers as in the settings, and for reconnecting as long as the process runs. */
export function connectionOptions(options: NatsOptions): NodeConnectionOptions {
  const urls = options.servers.map((server) => new URL(server.includes('://') ? server : `nats://${server}`))
  const [first] = urls
  const { username = '', password = '', protocol } = first ?? {}
  return {
    servers: urls.map((url) => url.host),
    name: options.name,
    ...(username === '' ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
    ...(options.inboxPrefix === undefined ? {} : { inboxPrefix: options.inboxPrefix }),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 10_000,
    maxPingOut: 2,
    waitOnFirstConnect: true,
    // Capturing a stack trace for each request, in case it fails, takes longer than the request.
    noAsyncTraces: true,
  }
}
