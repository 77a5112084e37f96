/** The rights that a destination needs at AWS, as documents to copy. */

import { destinationKinds, kindNamed } from '../../../delivery/deliver/kinds.js'
import { badRequest } from '../../../ground/core/errors.js'
import { chosenTarget } from '../../../words/resource/destination-target.js'
import type { Row } from '../../../words/resource/kind/define.js'
import { type IamPolicy, principalNote, weirPrincipal } from '../../../words/shape/iam-policy.js'

const version = '2012-10-17'

/** Throws if the target is of a kind that needs no rights at AWS. */
export function iamPolicyOf({ id, account_id, target }: Row): IamPolicy {
  const { kind, address, auth, options } = chosenTarget(target as never)
  const rights = kindNamed(kind).aws?.rights({ id, address, options })
  if (rights === undefined) {
    const withRights = destinationKinds.filter((each) => each.aws !== undefined).map(({ name }) => name)
    throw badRequest(
      `The target is of the kind ${kind}, which needs no rights at AWS: only ${withRights.join(', ')} have an IAM policy.`,
    )
  }
  const isRole = Boolean(auth?.role)
  return {
    policy: { Version: version, Statement: [...rights.statements] },
    trust_policy: isRole ? { Version: version, Statement: [trustOf(account_id)] } : null,
    notes: [...(isRole ? [principalNote] : []), ...rights.notes],
  }
}

/** https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html */
export const trustOf = (accountId: string) => ({
  Effect: 'Allow' as const,
  Principal: { AWS: weirPrincipal },
  Action: 'sts:AssumeRole' as const,
  Condition: { StringEquals: { 'sts:ExternalId': accountId } },
})

/** A policy as the AWS console takes it. */
export const iamDocument = (statements: readonly object[]): string =>
  JSON.stringify({ Version: version, Statement: statements }, null, 2)
