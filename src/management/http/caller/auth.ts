/**
 * Authenticates a request, in this order: token or session ▸ restriction ▸ rate ▸ version. The first failure ends the
 * checks, so a refused caller learns nothing about later ones. The right of the key follows in `http/guard.ts`.
 *
 * A session of the web console stands for the key that signed in. The header `Authorization` counts before its cookie.
 */
import type { FastifyRequest } from 'fastify'
import { now } from '../../../ground/core/clock.js'
import { onceReady, type Soon } from '../../../ground/core/concurrency.js'
import { unavailable, WeirError } from '../../../ground/core/errors.js'
import { hashToken } from '../../../ground/core/ids.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { apiKey, isExpired, rightsOf } from '../../../words/resource/api-key.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { View } from '../../../words/view/view.js'
import {
  type Caller,
  callerAddress,
  hashFinder,
  invalidKey,
  loginSource,
  unauthenticated,
} from '../../access/caller.js'
import type { KeyUses } from '../../access/key-uses.js'
import { checkWayIn, isLetIn } from '../../access/lockout.js'
import type { Session, Sessions } from '../../access/sessions.js'
import { type SignInCodes, signInKeys } from '../../access/sign-in-codes.js'
import type { Usage } from '../../access/usage.js'
import type { Principal } from '../../store/change/change.js'
import type { KnownKeys } from '../../store/known-keys.js'
import { checkConsoleRequest, sessionTokenOf } from './console-request.js'
import { headerLines, TokenHashes } from './headers.js'

export const supportedVersion = '2'

interface AuthOptions {
  readonly view: View
  /** Did Weir create a key? A row can be forged in the bucket. */
  readonly keys: Pick<KnownKeys, 'isKnown' | 'isGenuine'>
  readonly versionHeaders: readonly string[]
  readonly occurrences: Occurrences
  readonly usage: Usage
  readonly keyUses: Pick<KeyUses, 'note'>
  readonly sessions: Sessions
  readonly signInCodes: SignInCodes
  /** Where people reach Weir, if that is set. */
  readonly baseUrl: string | undefined
}

/** How a caller came: with a token to the API, or to the web console, from the second request on with a session. */
interface Way {
  readonly type: 'api' | 'dashboard'
  readonly session?: Session
}

export class Auth {
  readonly #options: AuthOptions
  readonly #keysWith: (tokenHash: string) => readonly Row[]
  readonly #hashes = new TokenHashes()

  constructor(options: AuthOptions) {
    this.#options = options
    this.#keysWith = hashFinder(options.view)
  }

  /** The caller of the request, or a `WeirError`. It is a promise only if a key or a session was never seen before. */
  check(request: FastifyRequest): Soon<Caller> {
    const session = request.headers.authorization === undefined ? this.#sessionToken(request) : undefined
    const caller =
      session === undefined
        ? this.#byToken(request, this.#hashes.of(request), { type: 'api' })
        : this.#bySession(request, session)
    return onceReady(caller, (found) => {
      this.#checkVersion(request)
      return found
    })
  }

  /** The caller with the session of the request. */
  async checkSession(request: FastifyRequest): Promise<Caller> {
    return this.#bySession(request, this.#neededToken(request))
  }

  /**
   * Ends the session of the request. No restriction and no rate limit applies: whoever is refused everything else must still
   * be able to sign out.
   */
  async endSession(request: FastifyRequest): Promise<void> {
    const { sessions, baseUrl } = this.#options
    checkConsoleRequest(request, baseUrl)
    const token = this.#neededToken(request)
    const address = callerAddress(request.ip)
    if (!sessions.knows(token)) this.#checkLogins(address)
    const session = await sessions.find(token)
    if (session === undefined) throw this.#loginFailed(address, endedSession())
    await sessions.end(session)
  }

  #sessionToken(request: FastifyRequest): string | undefined {
    return sessionTokenOf(request, this.#options.baseUrl)
  }

  #neededToken(request: FastifyRequest): string {
    const token = this.#sessionToken(request)
    if (token === undefined) throw unauthenticated('There is no session: sign in.')
    return token
  }

  /** The caller who signs in to the web console with the token of a key, and the key. */
  async signInByToken(request: FastifyRequest, token: string): Promise<SignedIn> {
    return this.#signedIn(await this.#byToken(request, hashToken(token), { type: 'dashboard' }))
  }

  /** The same with the code of a link, which is used up. */
  async signInByCode(request: FastifyRequest, code: string): Promise<SignedIn> {
    this.#checkUsable()
    const { view, signInCodes, keys } = this.#options
    const address = callerAddress(request.ip)
    const accountId = signInCodes.use(code)
    if (accountId === undefined)
      throw this.#loginFailed(
        address,
        unauthenticated('This sign-in link was used, or is older than five minutes: get another one.'),
      )
    view.checkServed(accountId)
    for (const key of signInKeys(view, accountId))
      if (await keys.isGenuine(key))
        return this.#signedIn(await this.#callerWith(key, request, address, { type: 'dashboard' }))
    throw unauthenticated(
      `The account ${accountId} has no API key any more that has all rights and has not expired.`,
    )
  }

  /** The row of a key that was just found. */
  #signedIn(caller: Caller): SignedIn {
    const key = this.#keyCalled(caller.principal.credentialId ?? '')
    if (key === undefined) throw invalidKey()
    return { caller, key }
  }

  #keyCalled(id: string): Row | undefined {
    return this.#options.view.state.rows.get(apiKey.kind)?.get(id)
  }

  #checkUsable(): void {
    if (!this.#options.view.isUsable) throw unavailable('The configuration is not complete yet.')
  }

  #byToken(request: FastifyRequest, tokenHash: string, way: Way): Soon<Caller> {
    this.#checkUsable()
    const address = callerAddress(request.ip)
    const keys = this.#keysWith(tokenHash)
    const known = keys.find((key) => this.#options.keys.isKnown(key))
    if (known !== undefined || keys.length === 0)
      return this.#callerWith(this.#valid(known, address), request, address, way)
    return this.#genuine(keys).then((key) =>
      this.#callerWith(this.#valid(key, address), request, address, way),
    )
  }

  #bySession(request: FastifyRequest, token: string): Soon<Caller> {
    const { sessions, baseUrl } = this.#options
    checkConsoleRequest(request, baseUrl)
    this.#checkUsable()
    const address = callerAddress(request.ip)
    // Looking for a session in NATS costs more than comparing a token: those who guess don't get that far.
    if (!sessions.knows(token)) this.#checkLogins(address)
    return onceReady(sessions.find(token), (session) => {
      const key = session && this.#keyCalled(session.keyId)
      if (session === undefined || key === undefined || isExpired(key, now()))
        throw this.#loginFailed(address, endedSession())
      this.#options.view.checkServed(key.account_id)
      const way = { type: 'dashboard', session } as const
      if (this.#options.keys.isKnown(key)) return this.#callerWith(key, request, address, way)
      return this.#genuine([key]).then((genuine) =>
        this.#callerWith(this.#valid(genuine, address), request, address, way),
      )
    })
  }

  /** The caller with this key, if it may make the request. */
  #callerWith(key: Row, request: FastifyRequest, address: string, way: Way): Soon<Caller> {
    const { type, session } = way
    const { view, occurrences, usage, keyUses } = this.#options
    // Also if the request is refused below: a key in the wrong hands should be seen.
    keyUses.note(key.id, address)
    return onceReady(checkWayIn(view.state, key.account_id, type, address, occurrences), () => {
      const waitSeconds = usage.requests.take(key.account_id)
      if (waitSeconds !== undefined) {
        throw new WeirError('ERR_RATE_LIMIT', 'The account made too many requests within a minute.', {
          retryAfterSeconds: waitSeconds,
        })
      }
      const principal: Principal = {
        source: 'API',
        credentialId: key.id,
        clientAddress: address,
        operationId: request.id,
      }
      const isShutOut = () => this.#isShutOut(key.id, address, way)
      const caller: Caller = {
        accountId: key.account_id,
        principal,
        rights: rightsOf(key),
        address,
        isShutOut,
      }
      return session === undefined ? caller : { ...caller, session: { expiresMs: session.expiresMs } }
    })
  }

  /** Would a caller that was let in be refused now? */
  #isShutOut(keyId: string, address: string, { type, session }: Way): boolean {
    const { view, sessions } = this.#options
    const key = this.#keyCalled(keyId)
    if (key === undefined || isExpired(key, now())) return true
    if (session !== undefined && sessions.isOver(session)) return true
    return !isLetIn(view.state, key.account_id, type, address)
  }

  /** The key of a login, unless that failed. */
  #valid(key: Row | undefined, address: string): Row {
    const { view } = this.#options
    if (key !== undefined) view.checkServed(key.account_id)
    // Failed logins of other clients at the same address or proxy don't count against a valid key.
    if (key !== undefined && !isExpired(key, now())) return key
    if (key === undefined && view.withheld.size > 0) {
      throw unavailable(
        'This API key is not known yet, because accounts are being brought up to date from ClickHouse. Try again in a few seconds.',
      )
    }
    throw this.#loginFailed(address, invalidKey())
  }

  /** Counts a failed login; returns its reason, or that there were too many. */
  #loginFailed(address: string, reason: WeirError): WeirError {
    const { usage, occurrences } = this.#options
    const waitSeconds = usage.failedLogins.take(loginSource(address))
    if (waitSeconds !== undefined) return tooManyLogins(waitSeconds)
    occurrences.loginFailed({ address })
    return reason
  }

  #checkLogins(address: string): void {
    const waitSeconds = this.#options.usage.failedLogins.wait(loginSource(address))
    if (waitSeconds !== undefined) throw tooManyLogins(waitSeconds)
  }

  async #genuine(keys: readonly Row[]): Promise<Row | undefined> {
    for (const key of keys) if (await this.#options.keys.isGenuine(key)) return key
    return undefined
  }

  #checkVersion(request: FastifyRequest): void {
    const { versionHeaders } = this.#options
    const given: { name: string; value: string }[] = []
    for (const name of versionHeaders)
      for (const value of headerLines(request, name)) given.push({ name, value })
    const [first] = given
    if (first === undefined) {
      throw new WeirError('ERR_VERSION', `The header "${versionHeaders[0]}: ${supportedVersion}" is needed.`)
    }
    const other = given.find(({ value }) => value !== first.value)
    if (other !== undefined) {
      throw new WeirError(
        'ERR_VERSION',
        `The headers ${versionOf(first)} and ${versionOf(other)} contradict each other: ${supportedVersion} is the supported version.`,
      )
    }
    if (first.value === supportedVersion) return
    throw new WeirError(
      'ERR_VERSION',
      `The header ${versionOf(first)} is refused: ${supportedVersion} is the supported version.`,
    )
  }
}

export interface SignedIn {
  readonly caller: Caller
  readonly key: Row
}

const endedSession = (): WeirError => unauthenticated('The session has ended: sign in again.')

export const tooManyLogins = (retryAfterSeconds: number): WeirError =>
  new WeirError('ERR_RATE_LIMIT', 'Too many failed logins from this address.', { retryAfterSeconds })

/** Repeats a value only if it looks like a version: it may be a token that was meant for another header. */
const versionOf = ({ name, value }: { name: string; value: string }): string =>
  /^v?\d[\d.-]{0,15}$/i.test(value) ? `"${name}: ${value}"` : `"${name}" without a version in it`
