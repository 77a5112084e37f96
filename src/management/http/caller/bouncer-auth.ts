/**
 * Authenticates a bouncer by its token in `X-Api-Key`, which opens nothing else. The same checks as for an API key:
 * restriction `api` ▸ rate, failed logins count, and a row that was forged in the bucket opens nothing.
 */
import type { FastifyRequest } from 'fastify'
import { unavailable, WeirError } from '../../../ground/core/errors.js'
import type { Occurrences } from '../../../ground/core/telemetry/occurrences.js'
import { bouncer } from '../../../words/resource/bouncers/bouncer.js'
import type { Row } from '../../../words/resource/kind/define.js'
import type { DeclaredRow } from '../../../words/resource/registry.js'
import type { View } from '../../../words/view/view.js'
import { callerAddress, keyFinder, loginSource, unauthenticated } from '../../access/caller.js'
import type { KeyUses } from '../../access/key-uses.js'
import { checkWayIn } from '../../access/lockout.js'
import type { Usage } from '../../access/usage.js'
import type { KnownKeys } from '../../store/known-keys.js'
import { tooManyLogins } from './auth.js'
import { onlyHeader } from './headers.js'

export interface BouncerAuthOptions {
  readonly view: View
  readonly keys: Pick<KnownKeys, 'isGenuine'>
  readonly usage: Usage
  readonly occurrences: Occurrences
  readonly keyUses: Pick<KeyUses, 'note'>
}

export interface BouncerCaller {
  readonly bouncer: DeclaredRow<'bouncer'>
  readonly address: string
}

export class BouncerAuth {
  readonly #options: BouncerAuthOptions
  readonly #find: ReturnType<typeof keyFinder>

  constructor(options: BouncerAuthOptions) {
    this.#options = options
    this.#find = keyFinder(options.view, bouncer.kind)
  }

  /** Rejects with a `WeirError` if the request is refused. */
  async check(request: FastifyRequest): Promise<BouncerCaller> {
    const { view, usage, occurrences, keyUses } = this.#options
    if (!view.isUsable) throw unavailable('The configuration is not complete yet.')
    const token = onlyHeader(request, 'X-Api-Key')
    if (token === undefined)
      throw unauthenticated('The header "X-Api-Key" with the token of a bouncer is needed.')
    const address = callerAddress(request.ip)
    const row = await this.#genuine(this.#find(token))
    if (row === undefined) {
      const waitSeconds = usage.failedLogins.take(loginSource(address))
      if (waitSeconds !== undefined) throw tooManyLogins(waitSeconds)
      occurrences.loginFailed({ address })
      throw new WeirError('ERR_FORBIDDEN', 'No bouncer has this token.')
    }
    view.checkServed(row.account_id)
    // Also if the request is refused below: a token in the wrong hands should be seen.
    keyUses.note(row.id, address)
    await checkWayIn(view.state, row.account_id, 'api', address, occurrences)
    const waitSeconds = usage.requests.take(row.account_id)
    if (waitSeconds !== undefined)
      throw new WeirError('ERR_RATE_LIMIT', 'The account made too many requests within a minute.', {
        retryAfterSeconds: waitSeconds,
      })
    return { bouncer: row as unknown as DeclaredRow<'bouncer'>, address }
  }
  async #genuine(rows: readonly Row[]): Promise<Row | undefined> {
    for (const row of rows) if (await this.#options.keys.isGenuine(row)) return row
    return undefined
  }
}
