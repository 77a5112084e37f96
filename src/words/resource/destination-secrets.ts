/**
 * The secrets of a destination: sealed when they are given, kept while they stay the same, and put back for delivery. All
 * secrets of a destination are sealed as one text: the secret key of a target at AWS, and JSON for the others.
 */

import type { AwsDestination } from '../../delivery/deliver/aws/aws-kind.js'
import type { DestinationConfig } from '../../delivery/deliver/kind/destination.js'
import { type Secrets, secretsIn, withSecrets } from '../../delivery/deliver/kind/target-options.js'
import { kindNamed } from '../../delivery/deliver/kinds.js'
import { badRequest } from '../../ground/core/errors.js'
import { checkAuth, storedAuth } from './aws-auth.js'
import { type ChosenTarget, chosenTarget, memberFor, type Target } from './destination-target.js'
import { type GivenSecret, givenSecrets, type SealedSecret, sealedOf } from './fields/kept-secrets.js'
import type { DeriveTools } from './kind/define.js'

/** The context that a destination's sealed secrets are bound to. The name is older than the secrets of other services. */
export const secretBelongsTo = (row: { readonly account_id: string; readonly id: string }): string =>
  `${row.account_id}/${row.id}/aws_secret_access_key`

/** Throws if the parts of a target do not fit together. */
export function checkTarget({ kind, address, auth, options }: ChosenTarget): void {
  checkAuth(kind, auth)
  const broken = kindNamed(kind).options?.broken?.(address, options)
  if (broken !== undefined) throw badRequest(`"target.${kind}" ${broken}.`)
}

export const withoutTargetSecrets = (chosen: ChosenTarget): Target =>
  ({ [chosen.kind]: memberFor(chosen, storedAuth) }) as Target

interface SecretRow extends Partial<SealedSecret> {
  readonly account_id: string
  readonly id: string
}

/** The fields of the secrets; none if they stay the same. */
export function sealedSecretOf(
  chosen: ChosenTarget,
  row: SecretRow,
  previous: (SecretRow & { readonly target: Target }) | undefined,
  tools: DeriveTools,
): Partial<SealedSecret> {
  const given = secretGiven(chosen, previous && chosenTarget(previous.target))
  return sealedOf(given, secretBelongsTo(row), previous?.secret_digest, tools)
}

const secretGiven = (chosen: ChosenTarget, before: ChosenTarget | undefined): GivenSecret =>
  chosen.auth === undefined ? optionSecret(chosen, before) : keySecret(chosen, before)

/** A target that is not stored, for delivery: all of its secrets must be given. Throws if it could not be created. */
export function givenTarget(chosen: ChosenTarget): UnsealedTarget {
  checkTarget(chosen)
  return unsealedTarget(chosen, secretGiven(chosen, undefined))
}

/** The secret access key for AWS; undefined if a role is assumed. */
function keySecret({ kind, auth }: ChosenTarget, before: ChosenTarget | undefined): GivenSecret {
  if (!auth?.creds) return undefined
  const { aws_access_key_id, aws_secret_access_key: secret } = auth.creds
  if (secret) return secret
  if (before?.auth?.creds?.aws_access_key_id === aws_access_key_id) return 'kept'
  throw badRequest(
    `"target.${kind}.auth.creds" lacks "aws_secret_access_key": it may be left out only if the key id stays the same.`,
  )
}

/** The secrets among a kind's own options; undefined if there are none. */
const optionSecret = (chosen: ChosenTarget, before: ChosenTarget | undefined): GivenSecret =>
  givenSecrets(
    `target.${chosen.kind}`,
    secretsOf(chosen),
    before && { areKept: () => areKept(chosen, before) },
  )

const secretsOf = ({ kind, options }: ChosenTarget): Secrets => {
  const declared = kindNamed(kind).options
  return declared === undefined ? {} : secretsIn(declared, options)
}

/** Whoever may change a target must not be able to have its secrets sent to a server of their own. */
function areKept(chosen: ChosenTarget, before: ChosenTarget): boolean {
  const recipientOf = ({ kind, address, options }: ChosenTarget): string =>
    kindNamed(kind).options?.recipient?.(address, options) ?? address
  const names = (target: ChosenTarget): string => Object.keys(secretsOf(target)).sort().join()
  return recipientOf(chosen) === recipientOf(before) && names(chosen) === names(before)
}

/** A target as delivery needs it: also how it authenticates to AWS, and packs, if it is there. */
type UnsealedTarget = Pick<DestinationConfig, 'kind' | 'address' | 'options'> &
  Partial<Pick<AwsDestination, 'auth' | 'packing'>>

/** `secret`: the unsealed text, if there is one. */
export function unsealedTarget(
  { kind, address, auth, packing, options }: ChosenTarget,
  secret: string | undefined,
): UnsealedTarget {
  const declared = kindNamed(kind).options
  const secrets = auth !== undefined || secret === undefined ? {} : (JSON.parse(secret) as Secrets)
  const target = {
    kind,
    address,
    options: declared === undefined ? {} : withSecrets(declared, options, secrets),
  }
  if (auth === undefined) return target
  if (auth.role) return { ...target, packing, auth: { role: { role_arn: auth.role.role_arn } } }
  const { aws_access_key_id } = auth.creds!
  return { ...target, packing, auth: { creds: { aws_access_key_id, aws_secret_access_key: secret! } } }
}

/** Does delivery need the unsealed secret? */
export const needsSecret = (chosen: ChosenTarget): boolean =>
  chosen.auth === undefined ? Object.keys(secretsOf(chosen)).length > 0 : Boolean(chosen.auth.creds)
