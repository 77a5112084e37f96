/**
 * Why no connection to NATS comes about. The library tries again without a word, so the first connection is tried here, one
 * round over all servers at a time, and while a later one is lost, another is tried now and then to learn the reason.
 */
import { errors, type NatsConnection } from '@nats-io/nats-core'
import { certificateFault } from '../core/certificate-fault.js'
import { sleep } from '../core/clock.js'
import { messageOf, StartFault } from '../core/errors.js'
import { connectionBy, connectionOptions, type NatsOptions } from './connection.js'

const againAfterMs = 250
/** The first look at a lost connection is late enough for one that comes back by itself. */
const lookEveryMs = 2_000
/** A server that refuses the login twice in a row does not do so because it is just being started. */
const refusalsMax = 2
/** A handshake that is refused is refused at once. */
const handshakeMs = 5_000

const settings = { ca: 'WEIR_NATS_CA', cert: 'WEIR_NATS_CERT' }

/** Waits as long as it takes, unless a server must be up. Rejects if the login is refused. */
export async function firstConnection(options: NatsOptions): Promise<NatsConnection> {
  let refusals = 0
  for (;;) {
    try {
      return await connectOnce(options)
    } catch (error) {
      refusals = isRefusedLogin(error) ? refusals + 1 : 0
      if (options.isUpNow) throw await explained(options, error)
      if (refusals === refusalsMax)
        throw new StartFault(`NATS can't be used: ${(await explained(options, error)).message}.`)
      options.unreachable?.((await explained(options, error)).message)
    }
    await sleep(againAfterMs)
  }
}

/** Does a server let this login in? Rejects if it can't be asked. */
export async function isLoginTaken(options: NatsOptions): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      const connection = await connectOnce(options)
      await connection.close()
      return true
    } catch (error) {
      if (isRefusedLogin(error)) return false
      if (tries === lateLoginsMax || !isLateLogin(error)) throw await explained(options, error)
    }
  }
}

/** On a busy machine a login may come too late. The library reports it as it does a refusal. */
const isLateLogin = (error: unknown): boolean =>
  error instanceof errors.AuthorizationError && /authentication timeout/i.test(error.message)

const lateLoginsMax = 3

const isRefusedLogin = (error: unknown): error is Error =>
  error instanceof errors.AuthorizationError && !isLateLogin(error)

/** One round over all servers. */
const connectOnce = (options: NatsOptions): Promise<NatsConnection> =>
  connectionBy(options)({ ...connectionOptions(options), waitOnFirstConnect: false })

/** Names the servers and the reason. */
async function explained(options: NatsOptions, error: unknown): Promise<Error> {
  const hosts = [connectionOptions(options).servers ?? []].flat()
  const which = hosts.length === 1 ? String(hosts[0]) : `${hosts.join(', ')}; of the last one that was tried`
  const reason = isRefusedLogin(error)
    ? `it refuses the login (${messageOf(error)})`
    : (certificateFault(error, settings) ?? (await alertOf(options, error)) ?? messageOf(error))
  return new Error(`${which}: ${reason.replace(/\.$/, '')}`, { cause: error })
}

/**
 * By TLS 1.3 a server refuses the client's certificate when the client takes itself for connected, and the library then waits
 * for an answer. By 1.2 the refusal is a part of the handshake.
 */
async function alertOf(options: NatsOptions, error: unknown): Promise<string | undefined> {
  const { tls, ...others } = connectionOptions(options)
  if (!(error instanceof errors.TimeoutError) || !tls) return undefined
  const bounded = { ...tls, maxVersion: 'TLSv1.2' } as typeof tls
  const handshake = { ...others, tls: bounded, timeout: handshakeMs, waitOnFirstConnect: false }
  return connectionBy(options)(handshake).then(
    async (connection) => {
      await connection.close()
      return undefined
    },
    (refusal: unknown) => certificateFault(refusal, settings),
  )
}

/** Looks why a lost connection does not come back, and has it tried again once a server is there. */
export class LostReason {
  readonly #options: NatsOptions
  readonly #dialNow: () => void
  #looking: AbortController | undefined
  #reason: string | undefined
  #isOver = false

  constructor(options: NatsOptions, dialNow: () => void) {
    this.#options = options
    this.#dialNow = dialNow
  }

  /** As the end of a sentence; undefined until it is known, and while the connection is there. */
  get reason(): string | undefined {
    return this.#reason
  }

  /** Also each time that the library loses a connection while it tries to come back. */
  lost(): void {
    if (this.#isOver || this.#looking !== undefined) return
    this.#looking = new AbortController()
    void this.#look(this.#looking.signal)
  }

  back(): void {
    this.#looking?.abort()
    this.#looking = undefined
    this.#reason = undefined
  }

  /** The connection is closed, which the library reports as one that is lost. */
  end(): void {
    this.#isOver = true
    this.back()
  }

  async #look(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(lookEveryMs, signal)
      if (signal.aborted) return
      const reason = await this.#reasonNow()
      if (signal.aborted) return
      this.#reason = reason
      if (reason === undefined) this.#dialNow()
      else this.#options.unreachable?.(reason)
    }
  }

  async #reasonNow(): Promise<string | undefined> {
    try {
      const { damagedDir: _, occurrences: __, ...plain } = this.#options
      const connection = await connectOnce({ ...plain, name: `${plain.name} (look)` })
      await connection.close()
      return undefined
    } catch (error) {
      return (await explained(this.#options, error)).message
    }
  }
}
