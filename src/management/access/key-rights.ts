/**
 * The right that a key needs for each operation: the one place that says so. Reading needs `read` and every other method
 * `write`, so that a new operation is never open by mistake. The few exceptions are listed here.
 */
import { badRequest, WeirError } from '../../ground/core/errors.js'
import { apiKey, expiryOf, includesRight, type KeyRight, rightsOf } from '../../words/resource/api-key.js'
import type { Row } from '../../words/resource/kind/define.js'
import type { ViewState } from '../../words/view/view-state.js'
import type { Caller } from './caller.js'

const readMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

interface Exception {
  /** Paths as routes or the OpenAPI document have them. */
  readonly paths: RegExp
  readonly right: KeyRight
}

const exceptions: readonly Exception[] = [
  // Asking changes nothing and shows no more than a verdict, so a proxy needs no other right.
  { paths: /^\/decide$/, right: 'decide' },
  // A proxy or a collector of logs reads and changes nothing.
  { paths: /^(\/records|\/v1\/logs)$/, right: 'publish' },
  // A draft is tried on records that the key may read, and only the result is stored. A trial can be cancelled.
  { paths: /\/try$/, right: 'read' },
  { paths: /^\/tries(\/|$)/, right: 'read' },
  { paths: /^\/policy_tests\/run$/, right: 'read' },
  // A key that could create keys would have every right of those that it creates.
  { paths: new RegExp(`^${apiKey.path}(/|$)`), right: 'all' },
]

/** `path`: undefined if there is no such operation. */
export function rightFor(method: string, path: string | undefined): KeyRight {
  if (readMethods.has(method)) return 'read'
  return exceptions.find(({ paths }) => path !== undefined && paths.test(path))?.right ?? 'write'
}

/** Throws if the key lacks the right; the message says which, and which key it is. */
export function checkKeyRight({ id, rights }: KeyRights, right: KeyRight): void {
  if (includesRight(rights, right)) return
  throw new WeirError(
    'ERR_FORBIDDEN',
    `The API key ${id} lacks the right "${right}": its rights are ${(rights ?? []).join(', ')}.`,
  )
}

interface KeyRights {
  readonly id: string | null
  readonly rights: readonly KeyRight[] | null | undefined
}

export const keyRightsOf = (key: Row): KeyRights => ({ id: key.id, rights: rightsOf(key) })

/**
 * Refuses a new key that would outlive the key that creates it: a leaked key must not get itself a successor. Creating
 * keys needs all rights, so a new key never has more.
 */
export function checkNewKey({ principal: { credentialId } }: Caller, key: Row, state: ViewState): void {
  const creator = credentialId === null ? undefined : state.rows.get(apiKey.kind)?.get(credentialId)
  const latest = creator && expiryOf(creator)
  if (latest === undefined) return
  const expiry = expiryOf(key)
  if (expiry !== undefined && Date.parse(expiry) <= Date.parse(latest)) return
  throw badRequest(
    `"expires_at" must be at most "${latest}": the API key ${credentialId} expires then and can't create one that lasts longer.`,
  )
}
