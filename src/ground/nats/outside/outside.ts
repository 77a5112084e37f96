/**
 * A connection to NATS servers that are not Weir's own, opened when it is needed. It connects only to addresses that the
 * caller allows: the library opens no connection here, resolves no name, and ignores what a server says about its cluster.
 */
import { type ApiError, JetStreamApiError } from '@nats-io/jetstream'
import {
  type Authenticator,
  type ConnectionOptions,
  credsAuthenticator,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from '@nats-io/nats-core'
import { deferred, NatsConnectionImpl, ProtocolHandler, type Transport } from '@nats-io/nats-core/internal'
import { jsonOf } from '../../core/bytes.js'
import { after } from '../../core/clock.js'
import { ConfirmedPublisher, type Refusals } from '../confirmed-publisher.js'
import { UnreadableLoginError } from '../refusals.js'
import { type OutsideServer, OutsideWire } from './outside-wire.js'

export { refusalOf } from '../refusals.js'

export type OutsideLogin =
  | { readonly token: string }
  | { readonly username: string; readonly password: string }
  | { readonly creds: string }
  | { readonly seed: string }

export interface OutsideOptions {
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
/** Addresses of a host that are tried: the owner of a name decides how many it has. */
const addressesMax = 3
/** A server that is silent for twice as long is given up. */
const pingIntervalMs = 5_000

export class OutsideNats {
  readonly #options: OutsideOptions
  /** The server that is tried first. */
  #next = 0
  #opening: Promise<OutsidePublisher> | undefined
  #open: OutsidePublisher | undefined
  /** Ends what is open and what is being opened. */
  #end = new AbortController()

  constructor(options: OutsideOptions) {
    this.#options = options
  }

  /** If none of the servers can be reached, the next call tries again. An abort closes what a request waits for. */
  async open(signal: AbortSignal): Promise<OutsidePublisher> {
    signal.throwIfAborted()
    signal.addEventListener('abort', () => this.close(), { once: true })
    if (this.#open?.isClosed) this.close()
    const opening = this.#opening ?? this.#connect(this.#end.signal)
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
    this.#end.abort()
    this.#end = new AbortController()
    this.#opening = undefined
    this.#open = undefined
  }

  async #connect(end: AbortSignal): Promise<OutsidePublisher> {
    const { servers } = this.#options
    let failure: unknown
    for (const _ of servers) {
      try {
        return await this.#connectTo(servers[this.#next]!, end)
      } catch (error) {
        failure = error
        this.#next = (this.#next + 1) % servers.length
        if (end.aborted) break
      }
    }
    throw failure
  }

  async #connectTo(server: OutsideServer, end: AbortSignal): Promise<OutsidePublisher> {
    const { login, inboxPrefix, name, addressesOf } = this.#options
    const authenticator = login && checkedAuthenticator(login)
    const options = {
      name,
      ...(server.tls !== undefined && { tls: {} }),
      ...(authenticator !== undefined && { authenticator }),
      ...(inboxPrefix !== undefined && { inboxPrefix }),
      pingInterval: pingIntervalMs,
      ignoreClusterUpdates: true,
      reconnect: false,
      noAsyncTraces: true,
    }
    let failure: unknown
    for (const address of (await addressesOf(server.host)).slice(0, addressesMax)) {
      try {
        return new OutsidePublisher(await connected(server, address, options, end))
      } catch (error) {
        failure = error
        if (end.aborted) break
      }
    }
    throw failure
  }
}

/** The types hide the constructor; the library's own `connect` would make a connection whose bytes nothing bounds. */
const Connection = NatsConnectionImpl as unknown as new (options: ConnectionOptions) => NatsConnectionImpl

/** A connection of the library, over a wire of Weir. */
async function connected(
  server: OutsideServer,
  address: string,
  options: ConnectionOptions,
  end: AbortSignal,
): Promise<NatsConnection> {
  const connection = new Connection(options)
  const handler = new ProtocolHandler(connection.options, connection)
  connection.protocol = handler
  const accepted = deferred<void>()
  handler.pongs.push(accepted)
  handler.connectError = (error) => accepted.reject(error)
  const wire = new OutsideWire(server, address, (message) => handler.parser.parse(message), end)
  handler.transport = wire as unknown as Transport
  wire
    .closed()
    .then((reason) =>
      handler.close(reason ?? handler.lastError ?? new Error('The server closed the connection.')),
    )
    // Those who wait for a PONG hear of it, too.
    .then(() => handler.resetOutbound())
    .catch(() => {})
  const deadline = after(connectTimeoutMs, () => void wire.close(new errors.TimeoutError()))
  try {
    await accepted
  } finally {
    deadline.stop()
  }
  handler.connected = true
  delete handler.connectError
  handler.heartbeats.start()
  return connection as NatsConnection
}

class OutsidePublisher extends ConfirmedPublisher {
  readonly #connection: NatsConnection

  constructor(connection: NatsConnection) {
    super(connection)
    this.#connection = connection
  }

  get isClosed(): boolean {
    return this.#connection.isClosed()
  }

  /** A server that does not answer in time may hold what it was sent; another connection may do better. */
  override async store(...request: Parameters<ConfirmedPublisher['store']>): Promise<Refusals> {
    const refusals = await super.store(...request)
    if (refusals.some((refusal) => refusal?.code === 'Timeout')) await this.#connection.close()
    return refusals
  }

  /** The stream that takes a subject; undefined if there is none. Rejects if the user may not ask. */
  async streamOf(subject: string, timeout: number): Promise<string | undefined> {
    const question = JSON.stringify({ subject })
    const { data } = await this.#connection.request('$JS.API.STREAM.NAMES', question, { timeout })
    const { error, streams } = jsonOf<StreamNames>(data)
    if (error) throw new JetStreamApiError(error)
    const name = streams?.[0]
    return typeof name === 'string' ? name : undefined
  }
}

/** As a server should answer. */
interface StreamNames {
  readonly error?: ApiError
  readonly streams?: readonly unknown[]
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
