import { isoSeconds } from '../../ground/core/clock.js'
import { badRequest } from '../../ground/core/errors.js'
import { documented, oneOf, orNull, ruled, Type } from '../../ground/core/schema.js'
import { bearerToken, lastUse, withToken } from './fields/bearer-token.js'
import { asIs, described, writable } from './fields/fields.js'
import { canonicalTime, timestamp } from './fields/timestamp-field.js'
import { defineResource, type Row } from './kind/define.js'

/** The rights that a key may be limited to. `all` is everything that the API offers, now and later. */
export const keyRights = ['read', 'write', 'skip_tests', 'decide', 'publish', 'all'] as const

export type KeyRight = (typeof keyRights)[number]

const rights = ruled(
  Type.Array(
    oneOf(
      keyRights,
      'read: see everything of the account, and try drafts. write: the same, and change everything except API keys. skip_tests: write although policy tests would fail. decide: ask for decisions. publish: send records. all: everything, API keys included.',
    ),
    {
      minItems: 1,
      maxItems: keyRights.length,
      description:
        'What the key may be used for. Without it, everything; an empty list and null are refused.',
      ...documented({ uniqueItems: true }),
    },
  ),
  // The message does not repeat an unknown right: it may be a token.
  (given) => (new Set(given).size < given.length ? 'a right is given twice' : undefined),
)

type Rights = readonly KeyRight[] | null

const dayMs = 24 * 60 * 60_000
const lifetimeDaysMax = 3650
/** A key expires within ten years, or never: a later time is most likely a mistake. */
export const apiKeyLifetimeMaxMs = lifetimeDaysMax * dayMs

/** Checked against the key's creation, so that a key keeps its end when it is updated or restored. */
function checkExpiry({ created_at, expires_at }: { created_at: number; expires_at: string | null }): void {
  if (expires_at === null) return
  const lifetimeMs = Date.parse(expires_at) - created_at
  if (lifetimeMs > 0 && lifetimeMs <= apiKeyLifetimeMaxMs) return
  throw badRequest(
    `"expires_at" is "${expires_at}", but must be later than now, ${isoSeconds(created_at)}, by at most ${lifetimeDaysMax} days; null: the key never expires.`,
  )
}

export const apiKey = defineResource({
  kind: 'api_key',
  idPrefix: 'ak_',
  path: '/api_keys',
  listName: 'keys',
  title: 'API key',
  about: 'A token that authenticates requests to this API. It is shown once, when the key is created.',
  example: {
    description: 'deployment',
    rights: ['read'],
    expires_at: '2027-11-20T10:00:00Z',
    last_used_at: '2026-11-20T10:00:00Z',
    last_used_from: '192.0.2.10',
  },
  audit: 'api_key',
  deletionRevokes: true,
  fields: {
    ...described,
    rights: {
      ...writable(rights, { atCreation: true }),
      // One form for a key without limits, which is also that of keys older than this field.
      complete: (given: KeyRight[]) => (given.includes('all') ? null : given),
    },
    expires_at: {
      ...writable(timestamp, { atCreation: true, unset: 'null' }),
      complete: canonicalTime,
      shown: asIs(
        orNull(Type.String({ format: 'date-time' }), {
          description: 'From then on the key is refused; null: it never expires.',
        }),
      ),
    },
    ...lastUse('in a request that was refused'),
    ...bearerToken,
  },
  check: (row, previous) => {
    if (previous === undefined) checkExpiry(row)
  },
  derive: withToken,
})

/** The rights of a key; null if it may do everything. */
export const rightsOf = (key: Row): Rights => {
  const given = key['rights'] as Rights | undefined
  return given === undefined || given?.length === 0 ? null : given
}

/**
 * Do these rights of a key include this one? The answer to a write shows the written resource, so `write` includes `read`.
 */
export const includesRight = (rights: Rights | undefined, right: KeyRight): boolean =>
  rights === null ||
  rights === undefined ||
  rights.includes(right) ||
  (right === 'read' && rights.includes('write'))

/** The time at which the key expires; undefined: never. Keys older than this field have none. */
export const expiryOf = (key: Row): string | undefined =>
  (key['expires_at'] ?? undefined) as string | undefined

export function isExpired(key: Row, nowMs: number): boolean {
  const expiry = expiryOf(key)
  return expiry !== undefined && Date.parse(expiry) <= nowMs
}
