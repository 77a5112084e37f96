/** How callers get into the API: rates and failed logins, sessions of the web console, and links that sign in once. */

import { reservedBytes } from '../delivery/wire/streams.js'
import { isoSeconds, now } from '../ground/core/clock.js'
import { badRequest, notFound, shown } from '../ground/core/errors.js'
import type { ReleaseStack } from '../ground/core/release.js'
import { openSessions, type Sessions } from '../management/access/sessions.js'
import {
  codeLifetimeMs,
  firstAccountId,
  SignInCodes,
  signInKeys,
} from '../management/access/sign-in-codes.js'
import { exchangeUsage, Usage } from '../management/access/usage.js'
import type { RoleContext } from '../management/process/role-context.js'
import type { AdminCommand } from '../management/process/running-service.js'
import type { StoreParts } from './store-parts.js'

export interface WayIn {
  readonly usage: Usage
  readonly sessions: Sessions
  readonly signInCodes: SignInCodes
}

export async function openWayIn(
  { settings, occurrences }: RoleContext,
  { nats, sealer, isKeyDeleted }: StoreParts,
  release: ReleaseStack,
): Promise<WayIn> {
  const usage = new Usage(settings.api.rateLimitPerMinute, settings.api)
  release.own(exchangeUsage(nats, usage, occurrences))
  const bytesMax = reservedBytes(settings.nats.storageMaxBytes)
  const options = { sealer, occurrences, isDeleted: isKeyDeleted }
  const sessions = release.own(await openSessions(nats, bytesMax, options))
  return { usage, sessions, signInCodes: new SignInCodes() }
}

/**
 * Prints a new link as text for a person, or as JSON. Throws a sentence that says what to do if there is no key that could
 * sign in.
 */
export function describeSignInLink(
  { store: { view } }: Pick<StoreParts, 'store'>,
  codes: SignInCodes,
  apiUrl: string,
  { account, json = '' }: AdminCommand,
): string {
  const address = loopbackUrl(apiUrl)
  if (address === undefined)
    throw badRequest(
      `Weir listens on ${apiUrl} only, and a sign-in link works over loopback: sign in with an API key.`,
    )
  const accountId = account ?? firstAccountId(view)
  if (accountId === undefined) throw notFound('There is no account yet: weir account create --name <name>')
  if (view.state.rows.get('account')?.has(accountId) !== true)
    throw notFound(`There is no account ${shown(accountId)}.`)
  const [key] = signInKeys(view, accountId)
  if (key === undefined)
    throw notFound(
      `The account ${accountId} has no API key with all rights that has not expired: weir key create --account ${accountId}`,
    )
  const url = `${address}/#sign-in=${codes.make(accountId)}`
  if (json === '') return `console: ${url}\n`
  const expires_at = isoSeconds(now() + codeLifetimeMs)
  return `${JSON.stringify({ url, account_id: accountId, api_key_id: key.id, expires_at })}\n`
}

/** Where a browser on this machine reaches the API over loopback. */
function loopbackUrl(apiUrl: string): string | undefined {
  const { hostname, port } = new URL(apiUrl)
  if (hostname === '0.0.0.0') return `http://127.0.0.1:${port}`
  if (hostname === '[::]') return `http://[::1]:${port}`
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.') ? apiUrl : undefined
}
