/**
 * Who makes a request, checked in this order: token ▸ `api` restriction ▸ rate ▸ version. What comes later is not
 * even looked at, so that nothing is told to those who are refused.
 */
import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { now } from '../core/clock.js'
import { unavailable, WeirError } from '../core/errors.js'
import { hashToken } from '../core/ids.js'
import { failedLoginsPerMinuteMax } from '../core/limits.js'
import { getOrMake } from '../core/maps.js'
import type { Occurrences } from '../core/occurrences.js'
import { checkRestriction } from '../evaluate/ip-restriction.js'
import type { Row } from '../resource/define.js'
import type { View } from '../store/view.js'
import { type Caller, invalidKey, unauthenticated } from './caller.js'
import { callerAddress, loginSource } from './caller-address.js'
import { headerLines, onlyHeader } from './headers.js'
import { viewRestrictions } from './lockout.js'

export const supportedVersion = '2'
const minuteMs = 60_000
/** Sources whose failed logins are remembered; more push out the oldest. */
const sourcesMax = 10_000

export interface AuthOptions {
  readonly view: View
  /** Is this row a key of ours, and not one that somebody else wrote to the bucket? */
  readonly isKeyGenuine: (row: Row) => Promise<boolean>
  readonly versionHeaders: readonly string[]
  readonly occurrences: Occurrences
  /** Counts a request of the account; resolves with the seconds to wait where it is one too many. */
  readonly overRate: (request: FastifyRequest, accountId: string) => Promise<number | undefined>
}

export class Auth {
  readonly #options: AuthOptions
  readonly #keys: KeyIndex
  readonly #failures = new FailedLogins()

  constructor(options: AuthOptions) {
    this.#options = options
    this.#keys = new KeyIndex(options.view)
  }

  /** The caller of the request, or a `WeirError`. */
  async check(request: FastifyRequest): Promise<Caller> {
    if (!this.#options.view.isUsable) throw unavailable('The configuration is not complete yet.')
    const address = callerAddress(request.ip)
    const key = await this.#authenticate(request, address)
    const { view, occurrences } = this.#options
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
    const waitSeconds = await this.#options.overRate(request, key.account_id)
    if (waitSeconds !== undefined) {
      throw new WeirError('ERR_RATE_LIMIT', 'The account made too many requests within a minute.', {
        retryAfterSeconds: waitSeconds,
      })
    }
    this.#checkVersion(request)
    return { accountId: key.account_id, principal: { source: 'API', credentialId: key.id }, address }
  }

  async #authenticate(request: FastifyRequest, address: string): Promise<Row> {
    const token = /^Bearer +(\S+)\s*$/i.exec(onlyHeader(request, 'Authorization') ?? '')?.[1]
    // Who names no key guesses none.
    if (token === undefined) throw unauthenticated('The header "Authorization: Bearer <API key>" is needed.')
    const key = await this.#genuineKey(token)
    // Guesses of others at the same address, or behind the same proxy, are none of this caller's.
    if (key !== undefined) return key
    const source = loginSource(address)
    const waitSeconds = this.#failures.waitSeconds(source)
    if (waitSeconds > 0) {
      throw new WeirError('ERR_RATE_LIMIT', 'Too many failed logins from this address.', {
        retryAfterSeconds: waitSeconds,
      })
    }
    this.#failures.note(source)
    this.#options.occurrences.loginFailed({ address })
    throw invalidKey()
  }

  async #genuineKey(token: string): Promise<Row | undefined> {
    for (const key of this.#keys.find(token)) if (await this.#options.isKeyGenuine(key)) return key
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

/** Anything but a version is not repeated: it may be a token that was meant for another header. */
const versionOf = ({ name, value }: { name: string; value: string }): string =>
  /^v?\d[\d.-]{0,15}$/i.test(value) ? `"${name}: ${value}"` : `"${name}" without a version in it`

/** API keys by the hash of their token, rebuilt when a key changes. */
class KeyIndex {
  readonly #view: View
  #byHash: Map<string, Row[]> | undefined

  constructor(view: View) {
    this.#view = view
    view.onChange((kind) => {
      if (kind === 'api_key' || kind === '*') this.#byHash = undefined
    })
  }

  /** Rows with the hash of this token: one, unless somebody else wrote to the bucket. */
  find(token: string): readonly Row[] {
    const hash = hashToken(token)
    this.#byHash ??= this.#build()
    // The lookup compared hashes already; this comparison takes the same time for every hash.
    const isSame = (key: Row) => timingSafeEqual(Buffer.from(hash), Buffer.from(String(key['token_hash'])))
    return (this.#byHash.get(hash) ?? []).filter(isSame)
  }

  #build(): Map<string, Row[]> {
    const byHash = new Map<string, Row[]>()
    for (const row of this.#view.state.rows.get('api_key')?.values() ?? [])
      getOrMake(byHash, String(row['token_hash']), () => []).push(row)
    return byHash
  }
}

/** Failed logins per source, within a minute. */
class FailedLogins {
  readonly #bySource = new Map<string, { since: number; count: number }>()

  note(source: string): void {
    const at = now()
    const known = this.#bySource.get(source)
    if (known !== undefined && at - known.since < minuteMs) {
      known.count += 1
      return
    }
    this.#bySource.delete(source)
    this.#bySource.set(source, { since: at, count: 1 })
    if (this.#bySource.size > sourcesMax) this.#bySource.delete(this.#bySource.keys().next().value!)
  }

  /** Seconds until the source may try again; 0: it may now. */
  waitSeconds(source: string): number {
    const known = this.#bySource.get(source)
    if (known === undefined || known.count < failedLoginsPerMinuteMax) return 0
    return Math.max(0, Math.ceil((known.since + minuteMs - now()) / 1000))
  }
}
