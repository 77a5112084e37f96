/**
 * Secrets among the members of a field: sealed as one text when they are given, and kept while they stay the same. Clients
 * can't read a secret back to send it again, so that one that is left out may stay.
 */

import type { Secrets } from '../../../delivery/deliver/kind/target-options.js'
import { badRequest } from '../../../ground/core/errors.js'
import type { DeriveTools } from '../kind/define.js'

/** Undefined: there are none. */
export type GivenSecret = string | 'kept' | undefined

/**
 * The secrets as one text. `place`: of the field, for messages; `before`: if the row exists, whether its secrets may stay.
 */
export function givenSecrets(
  place: string,
  given: Secrets,
  before: { readonly areKept: () => boolean } | undefined,
): GivenSecret {
  const secrets = Object.entries(given)
  if (secrets.length === 0) return undefined
  const missing = secrets.filter(([, secret]) => secret === null).map(([path]) => path)
  if (missing.length === 0) return JSON.stringify(Object.fromEntries(secrets))
  if (missing.length === secrets.length && before?.areKept()) return 'kept'
  const lacks = `"${place}" lacks ${missing.map((path) => `"${path}"`).join(', ')}`
  if (before === undefined) throw badRequest(`${lacks}.`)
  throw badRequest(
    `${lacks}: secrets may be left out only if all of them are, there were the same ones before, and the ${place.replace(/\..*/, '')} still leads to the same place.`,
  )
}

export interface SealedSecret {
  readonly sealed_secret: string | null
  readonly secret_digest: string | null
}

/** The fields of a secret; none if it stays the same. `belongsTo`: the context that it is bound to. */
export function sealedOf(
  given: GivenSecret,
  belongsTo: string,
  previousDigest: string | null | undefined,
  tools: Pick<DeriveTools, 'seal' | 'digest'>,
): Partial<SealedSecret> {
  if (given === 'kept') return {}
  if (given === undefined) return { sealed_secret: null, secret_digest: null }
  const digest = tools.digest(given, belongsTo)
  if (digest === previousDigest) return {}
  return { sealed_secret: tools.seal(given, belongsTo), secret_digest: digest }
}
