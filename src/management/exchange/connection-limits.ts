/**
 * Timeouts of the API's connections. A separate file, because the port is opened with them before the rest of the API is
 * loaded.
 */
import type { ServerOptions } from 'node:http'

/** A request line and headers: the longest expression with each byte percent-encoded, and Node's default for the rest. */
export const requestHeadBytesMax = 64 * 1024

/** From a request's first byte to its last. */
const requestTimeoutMs = 30_000
/** How often Node looks for slow requests; its default of 30 s would double the timeout. */
const slowRequestsCheckMs = 5_000
/** A connection without requests. */
const idleConnectionMs = 60_000
/** A stop waits so long for requests under way. */
export const requestsEndMs = 2_000

export const connectionLimits = {
  maxHeaderSize: requestHeadBytesMax,
  // A missing host is refused by the guard, in the shape of every error.
  requireHostHeader: false,
  requestTimeout: requestTimeoutMs,
  headersTimeout: requestTimeoutMs,
  keepAliveTimeout: idleConnectionMs,
  connectionsCheckingInterval: slowRequestsCheckMs,
} as const satisfies ServerOptions
