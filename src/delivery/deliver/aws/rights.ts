/** Rights at AWS, as statements of IAM policies. */

/** A statement of an IAM policy. */
interface IamStatement {
  readonly Sid: string
  readonly Effect: 'Allow'
  readonly Action: string[]
  readonly Resource: string[]
  readonly Condition?: Record<string, Record<string, string>>
}

/** The rights at AWS that a target needs. */
export interface AwsRights {
  readonly statements: readonly IamStatement[]
  /** Notes, as sentences: rights that are needed only sometimes, which the target does not show. */
  readonly notes: readonly string[]
}

const allow = (Sid: string, Action: string[], ...Resource: string[]): IamStatement => ({
  Sid,
  Effect: 'Allow',
  Action,
  Resource,
})

export const mayDeliver = (actions: string[], ...resources: string[]): IamStatement =>
  allow('WeirDelivers', actions, ...resources)

export const mayCheck = (actions: string[], ...resources: string[]): IamStatement =>
  allow('WeirChecks', actions, ...resources)

/** The statements for a target that is one resource, and what to add if a KMS key encrypts it. */
export const rightsOn =
  (deliver: string[], check: string[], kms: string[] = []) =>
  ({ address }: { readonly address: string }): AwsRights => ({
    statements: [mayDeliver(deliver, address), ...(check.length > 0 ? [mayCheck(check, address)] : [])],
    notes:
      kms.length > 0
        ? [`If the target is encrypted with a KMS key of yours, allow ${kms.join(' and ')} on the key, too.`]
        : [],
  })

/** The right to use a KMS key that is given by its id, ARN or alias. */
export function mayUseKey(actions: string[], key: string, partition: string, region: string): IamStatement {
  const [, prefix = `arn:${partition}:kms:${region}:*:`, resource = key] =
    /^(arn:.*?:kms:.*?:.*?:)(.*)$/.exec(key) ?? []
  const alias = resource.startsWith('alias/') ? resource : undefined
  const id = alias === undefined ? resource.replace(/^key\//, '') : '*'
  return {
    ...allow('WeirEncrypts', actions, `${prefix}key/${id}`),
    // A policy can't name a key by its alias, except so.
    ...(alias !== undefined && {
      Condition: { 'ForAnyValue:StringEquals': { 'kms:ResourceAliases': alias } },
    }),
  }
}
