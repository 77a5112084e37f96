/**
 * A connection to NATS servers that are not Weir's own, opened when it is needed. It connects only to addresses that the
 * caller allows: the library resolves no name, ignores what a server says about its cluster, and does not reconnect.
 */
import { jetstreamManager } from '@nats-io/jetstream'
import {
  type Authenticator,
  credsAuthenticator,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/nats-core'
import { connect } from '@nats-io/transport-node'
import { isAddress } from '../core/address/ip.js'
import { ConfirmedPublisher } from './confirmed-publisher.js'
import { UnreadableLoginError } from './refusals.js'

export { refusalOf } from './refusals.js'

export interface OutsideServer {
  readonly host: string
  readonly port: number
  /** Certificates of its authorities, in PEM; default: those that Node trusts. Undefined: without TLS. */
  readonly tls: { readonly ca?: string } | undefined
}

export type OutsideLogin =
  | { readonly token: string }
  | { readonly username: string; readonly password: string }
  | { readonly creds: string }
  | { readonly seed: string }

interface OutsideOptions {
  /** One of them is enough. */
  readonly servers: readonly OutsideServer[]
  readonly login: OutsideLogin | undefined
  /** Prefix of the subjects of answers. */
  readonly inboxPrefix: string | undefined
  readonly name: string
  /** The addresses of a host that may be connected to. */
  readonly addressesOf: (host: string) => Promise<readonly string[]>
}

/** For one address. */
const connectTimeoutMs = 5_000
/** A server that is silent for twice as long is given up. */
const pingIntervalMs = 5_000

export class OutsideNats {
  readonly #options: OutsideOptions
  /** The server that is tried first. */
  #next = 0
  #opening: Promise<OutsidePublisher> | undefined
  #open: OutsidePublisher | undefined

  constructor(options: OutsideOptions) {
    this.#options = options
  }

  /** If none of the servers can be reached, the next call tries again. */
  async open(): Promise<OutsidePublisher> {
    if (this.#open?.isClosed) this.close()
    const opening = this.#opening ?? this.#connect()
    this.#opening = opening
    try {
      const opened = await opening
      if (this.#opening === opening) this.#open = opened
      return opened
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined
      throw error
    }
  }

  /** Requests that are under way fail; the next one connects again. */
  close(): void {
    this.#opening?.then(
      (opened) => opened.close(),
      () => {},
    )
    this.#opening = undefined
    this.#open = undefined
  }

  async #connect(): Promise<OutsidePublisher> {
    const { servers } = this.#options
    let failure: unknown
    for (const _ of servers) {
      try {
        return await this.#connectTo(servers[this.#next]!)
      } catch (error) {
        failure = error
        this.#next = (this.#next + 1) % servers.length
      }
    }
    throw failure
  }

  async #connectTo({ host, port, tls }: OutsideServer): Promise<OutsidePublisher> {
    const { login, inboxPrefix, name, addressesOf } = this.#options
    const authenticator = login && checkedAuthenticator(login)
    // A certificate is for a name or, without one, for the address.
    const encrypted = tls && { host, servername: isAddress(host) ? '' : host, ...tls }
    let failure: unknown
    for (const address of await addressesOf(host)) {
      try {
        const connection = await connect({
          servers: [address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`],
          name,
          tls: encrypted ?? null,
          ...(authenticator !== undefined && { authenticator }),
          ...(inboxPrefix !== undefined && { inboxPrefix }),
          timeout: connectTimeoutMs,
          pingInterval: pingIntervalMs,
          resolve: false,
          ignoreClusterUpdates: true,
          reconnect: false,
          noAsyncTraces: true,
        })
        return new OutsidePublisher(connection)
      } catch (error) {
        failure = isMismatch(error, tls) ? new TlsMismatchError(tls) : error
      }
    }
    throw failure
  }
}

/** The server wants TLS, and the caller does not, or the other way round. */
class TlsMismatchError extends Error {
  readonly code = 'ERR_TLS_MISMATCH'

  constructor(tls: OutsideServer['tls']) {
    super(tls === undefined ? 'The server requires TLS.' : 'The server does not support TLS.')
  }
}

/** Without options, the library fails in reading them. */
const isMismatch = (error: unknown, tls: OutsideServer['tls']): boolean =>
  error instanceof errors.ConnectionError &&
  (tls === undefined ? error.cause instanceof TypeError : /does not support 'tls'/.test(error.message))

class OutsidePublisher extends ConfirmedPublisher {
  readonly #connection: NatsConnection

  constructor(connection: NatsConnection) {
    super(connection)
    this.#connection = connection
  }

  get isClosed(): boolean {
    return this.#connection.isClosed()
  }

  /** The stream that takes a subject; undefined if there is none. Rejects if the user may not ask. */
  async streamOf(subject: string, timeout: number): Promise<string | undefined> {
    const { streams } = await jetstreamManager(this.#connection, { timeout, checkAPI: false })
    for await (const name of streams.names(subject)) return name
    return undefined
  }

  close(): void {
    this.#connection.close().catch(() => {})
  }
}

// --- login ---

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function authenticatorOf(login: OutsideLogin): Authenticator {
  if ('token' in login) return tokenAuthenticator(login.token)
  if ('password' in login) return usernamePasswordAuthenticator(login.username, login.password)
  return 'creds' in login ? credsAuthenticator(bytes(login.creds)) : nkeyAuthenticator(bytes(login.seed))
}

/** Throws if a key can't be read: the library would find that out where no caller hears of it. */
function checkedAuthenticator(login: OutsideLogin): Authenticator {
  const authenticator = authenticatorOf(login)
  try {
    authenticator('nonce')
  } catch {
    throw new UnreadableLoginError('The credentials hold no valid key.')
  }
  return authenticator
}
