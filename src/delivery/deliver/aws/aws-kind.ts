/** A destination kind at AWS: what its declaration, its targets and its senders have besides those of every kind. */

import type { DestinationConfig, GivenOptions } from '../kind/destination.js'
import type { DestinationKind } from '../kind/kind.js'
import type { Sender, SenderDeps } from '../kind/sender.js'
import type { OptionsOf, TargetOptions } from '../kind/target-options.js'
import type { AwsClock } from './aws-clock.js'
import type { Packing, PackingTarget } from './packing.js'
import type { AwsRights } from './rights.js'
import type { SharedBodies } from './shared-bodies.js'

/** How the deliverer authenticates to AWS: a role it assumes, or a pair of keys. */
export type DestinationAuth =
  | { readonly role: { readonly role_arn: string } }
  | { readonly creds: { readonly aws_access_key_id: string; readonly aws_secret_access_key: string } }

/** The id also names the role session, and the account is its external id. */
export interface AwsDestination<Options = GivenOptions> extends DestinationConfig<Options> {
  readonly auth: DestinationAuth
  /** `none` for kinds that do not pack. */
  readonly packing: Packing
}

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration?: Date
}

/** How AWS is reached, for all kinds that use it. */
export interface AwsAccess {
  /** Replaces the addresses of all services without a separate endpoint. */
  readonly endpointUrl?: string | undefined
  readonly stsEndpointUrl?: string | undefined
  /** Used to assume roles. Default: the SDK's own chain (environment, profile, instance role …). */
  readonly ambientCredentials?: AwsCredentials
}

export interface AwsDeps extends SenderDeps {
  readonly aws: AwsAccess
  /** Shared by all clients of AWS in the process. */
  readonly clock: AwsClock
  readonly bodies: SharedBodies
}

/** A unit that the service bills: it counts the begun units of a record. */
export interface BillingUnit {
  /** In metrics and the status. */
  readonly name: string
  /** For people, such as `each begun 25 KB of a record`. */
  readonly about: string
  readonly bytes: number
}

/** Members that only kinds at AWS declare. */
interface AwsMembers<Target extends PackingTarget | undefined, Options> {
  /** The rights that a role or a user needs, for delivery and for checks. */
  rights(target: Pick<DestinationConfig<Options>, 'id' | 'address' | 'options'>): AwsRights
  /** How several events are packed into a record; a target of such a kind has the member `packing`. */
  readonly packing?: Target
  /** The units in which AWS bills records, the most usual first; none if records are not billed. */
  readonly billing?: readonly BillingUnit[]
}

export interface AwsKind<
  Name extends string = string,
  Field extends string = string,
  Target extends PackingTarget | undefined = PackingTarget | undefined,
  Options extends TargetOptions | undefined = TargetOptions | undefined,
> extends Omit<DestinationKind<Name, Field, Options>, 'open'> {
  readonly aws: AwsMembers<Target, OptionsOf<Options>>
  open(config: AwsDestination<OptionsOf<Options>>, deps: AwsDeps): Sender
}

/** Identity, so that the types of a declaration are kept. */
export const defineAwsKind = <
  const Name extends string,
  const Field extends string,
  Target extends PackingTarget | undefined = undefined,
  Options extends TargetOptions | undefined = undefined,
>(
  kind: AwsKind<Name, Field, Target, Options>,
): AwsKind<Name, Field, Target, Options> => kind
