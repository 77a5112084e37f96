/** How long the API's connections may take. It listens with these before the API itself is loaded. */
import type { ServerOptions } from 'node:http'

/** From a request's first byte to its last: whoever sends more slowly keeps a connection for nothing. */
const requestTimeoutMs = 30_000
/** How often slow requests are looked for; Node's own half a minute would double the timeout. */
const slowRequestsCheckMs = 5_000
/** A connection that nobody asks anything on. */
const idleConnectionMs = 60_000

export const connectionLimits = {
  // A missing host is refused by the guard, in the shape of every error.
  requireHostHeader: false,
  requestTimeout: requestTimeoutMs,
  headersTimeout: requestTimeoutMs,
  keepAliveTimeout: idleConnectionMs,
  connectionsCheckingInterval: slowRequestsCheckMs,
} as const satisfies ServerOptions
