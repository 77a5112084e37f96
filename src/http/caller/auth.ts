/**
 * Authenticates a request, in this order: token ▸ `api` restriction ▸ rate ▸ version. The first failure ends the checks,
 * so a refused caller learns nothing about later ones. The right of the key follows in `guard.ts`.
 */
import type { FastifyRequest } from 'fastify'
import { now } from '../../core/clock.js'
import type { Soon } from '../../core/concurrency.js'
import { unavailable, WeirError } from '../../core/errors.js'
import type { Occurrences } from '../../core/telemetry/occurrences.js'
import { checkRestriction } from '../../evaluate/ip-restriction.js'
import { isExpired, rightsOf } from '../../resource/api-key.js'
import type { Row } from '../../resource/define.js'
import type { Principal } from '../../store/change.js'
import type { KnownKeys } from '../../store/known-keys.js'
import type { View } from '../../view/view.js'
import type { Usage } from '../bounds/usage.js'
import { headerLines, onlyHeader } from '../headers.js'
import {
  type Caller,
  callerAddress,
  expiredKey,
  invalidKey,
  keyFinder,
  loginSource,
  unauthenticated,
} from './caller.js'
import type { KeyUses } from './key-uses.js'
import { viewRestrictions } from './lockout.js'

export const supportedVersion = '2'

interface AuthOptions {
  readonly view: View
  /** Did Weir create a key? A row can be forged in the bucket. */
  readonly keys: Pick<KnownKeys, 'isKnown' | 'isGenuine'>
  readonly versionHeaders: readonly string[]
  readonly occurrences: Occurrences
  readonly usage: Usage
  readonly keyUses: Pick<KeyUses, 'note'>
}

export class Auth {
  readonly #options: AuthOptions
  readonly #keysOf: (token: string) => readonly Row[]

  constructor(options: AuthOptions) {
    this.#options = options
    this.#keysOf = keyFinder(options.view)
  }

  /** The caller of the request, or a `WeirError`. It is a promise only if a key was never compared before. */
  check(request: FastifyRequest): Soon<Caller> {
    if (!this.#options.view.isUsable) throw unavailable('The configuration is not complete yet.')
    const address = callerAddress(request.ip)
    const keys = this.#keysOf(tokenOf(request))
    const known = keys.find((key) => this.#options.keys.isKnown(key))
    if (known !== undefined || keys.length === 0)
      return this.#callerWith(this.#valid(known, address), request, address)
    return this.#genuine(keys).then((key) => this.#callerWith(this.#valid(key, address), request, address))
  }

  /** The caller with this key, if it may make the request. */
  #callerWith(key: Row, request: FastifyRequest, address: string): Caller {
    const { view, occurrences, usage, keyUses } = this.#options
    // Also if the request is refused below: a key in the wrong hands should be seen.
    keyUses.note(key.id, address)
    const { decision, warning } = checkRestriction(
      viewRestrictions(view.state),
      key.account_id,
      'api',
      address,
    )
    if (warning !== undefined)
      occurrences.apiRestrictionWarning({ restriction_id: warning.restrictionId, address })
    if (decision === 'block') {
      throw new WeirError('ERR_FORBIDDEN', `The address ${address} may not reach the API of this account.`)
    }
    const waitSeconds = usage.requests.take(key.account_id)
    if (waitSeconds !== undefined) {
      throw new WeirError('ERR_RATE_LIMIT', 'The account made too many requests within a minute.', {
        retryAfterSeconds: waitSeconds,
      })
    }
    this.#checkVersion(request)
    const principal: Principal = {
      source: 'API',
      credentialId: key.id,
      clientAddress: address,
      operationId: request.id,
    }
    return { accountId: key.account_id, principal, rights: rightsOf(key), address }
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
    const waitSeconds = this.#options.usage.failedLogins.take(loginSource(address))
    if (waitSeconds !== undefined) {
      throw new WeirError('ERR_RATE_LIMIT', 'Too many failed logins from this address.', {
        retryAfterSeconds: waitSeconds,
      })
    }
    this.#options.occurrences.loginFailed({ address })
    throw key === undefined ? invalidKey() : expiredKey(key)
  }

  async #genuine(keys: readonly Row[]): Promise<Row | undefined> {
    for (const key of keys) if (await this.#options.keys.isGenuine(key)) return key
    return undefined
  }

  #checkVersion(request: FastifyRequest): void {
    const { versionHeaders } = this.#options
    const given = versionHeaders.flatMap((name) =>
      headerLines(request, name).map((value) => ({ name, value })),
    )
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

/** The token of a request. Without one nothing was guessed, so it does not count as a failed login. */
function tokenOf(request: FastifyRequest): string {
  const token = /^Bearer +(\S+)\s*$/i.exec(onlyHeader(request, 'Authorization') ?? '')?.[1]
  if (token === undefined) throw unauthenticated('The header "Authorization: Bearer <API key>" is needed.')
  return token
}

/** Repeats a value only if it looks like a version: it may be a token that was meant for another header. */
const versionOf = ({ name, value }: { name: string; value: string }): string =>
  /^v?\d[\d.-]{0,15}$/i.test(value) ? `"${name}: ${value}"` : `"${name}" without a version in it`
