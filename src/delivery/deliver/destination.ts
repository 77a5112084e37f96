/**
 * The interface of a destination kind. A kind is one file (kinesis, firehose, cloudwatch-logs) and one line in
 * `kinds.ts`: API schema, settings and metrics labels derive from its declaration. The file of a kind is always in the
 * same order: address, limits, client, sender, declaration.
 *
 * A sender only reports what to send again. The lane decides when and how often, what becomes a dead letter and when a
 * destination pauses.
 */

import type { Problem, Result } from '../../ground/core/errors.js'
import type { ConfirmedPublisher } from '../../ground/nats/confirmed-publisher.js'
import type { Fault } from '../outgoing/fault-class.js'
import type { ReachableNetworks } from '../outgoing/private-networks.js'
import type { PackedEvent } from '../wire/packed-event.js'
import type { KindAdvice } from './advice/kind-advice.js'
import type { AwsClock } from './aws/aws-clock.js'
import type { Packing, PackingTarget, ServiceRecord } from './aws/packing.js'
import type { AwsRights } from './aws/rights.js'
import type { SharedBodies } from './aws/shared-bodies.js'
import type { KindForm, Words } from './forms/kind-form.js'
import type { TargetOptions } from './target-options.js'

/** How the deliverer authenticates to AWS: a role it assumes, or a pair of keys. */
export type DestinationAuth =
  | { readonly role: { readonly role_arn: string } }
  | { readonly creds: { readonly aws_access_key_id: string; readonly aws_secret_access_key: string } }

/** All that delivery knows about an event destination. */
export interface DestinationConfig {
  /** `ed_…`: names the role session and the log streams. */
  readonly id: string
  /** `ac_…`: the external id of the role session. */
  readonly accountId: string
  readonly kind: string
  /** Where events go, in the form that the kind declares: the ARN of a stream, delivery stream or log group. */
  readonly address: string
  /** Undefined for kinds that need none. */
  readonly auth: DestinationAuth | undefined
  /** The `options` that the kind declares, secrets included; empty if nothing is set. */
  readonly options: Readonly<Record<string, unknown>>
  /** `none` for kinds that do not pack. */
  readonly packing: Packing
  /** When someone paused it; undefined if it is not paused by hand. */
  readonly pausedAt?: string | undefined
  /** Its events are never dropped for their age; missing if they may be. */
  readonly keepsEvents?: true
}

/** Everything about a destination that decides where and how events are sent. */
export const targetOf = ({ pausedAt: _, keepsEvents: __, ...target }: DestinationConfig): string =>
  JSON.stringify(target)

/** The limits of one request. */
export interface BatchLimits {
  readonly eventsMax: number
  /** For all events of a request, each as `sizeOf` counts it. */
  readonly requestBytesMax: number
  readonly eventBytesMax: number
  /** The size of an event as the service counts it, overhead included. */
  readonly sizeOf: (event: Sized) => number
  /** For events that share records. */
  readonly packed?: PackedLimits
  /** The longest time between the oldest and the newest event of a request, if the service limits it. */
  readonly spanMaxMs?: number
  /** How long events wait for others to fill a request that is not full; missing: not at all. */
  readonly lingerMs?: number
  /** A request holds whole packs only, so that after a crash the same packs can make the same request again. */
  readonly wholePacks?: true
}

/** The records of a request are at most the sum of what its events need of them, rounded up. */
interface PackedLimits {
  readonly recordsMax: number
  /** The most that an event adds to the records of a request: twice its share of a record, or 1 if it may need its own. */
  readonly recordPartOf: (event: PackedEvent) => number
}

/** The size of an event or record depends on these. */
type Sized = Pick<PackedEvent, 'dataBytes' | 'partitionKeyBytes'>

/** A unit that the service bills: it counts the begun units of a record. */
export interface BillingUnit {
  /** In metrics and the status. */
  readonly name: string
  /** For people, such as `each begun 25 KB of a record`. */
  readonly about: string
  readonly bytes: number
}

/** The limits that a kind declares; the size of a request is a setting. */
export type KindLimits = Omit<BatchLimits, 'requestBytesMax'>

/** An event that the service refused while it accepted others. */
export interface Rejection {
  readonly index: number
  readonly fault: Fault
}

/** Events that shared a record that was refused: at least one of them is at fault. */
export interface Suspects {
  readonly indices: readonly number[]
  readonly fault: Fault
}

/** How the service names a request and the first event that it accepted, so that its owner finds them there. */
export interface Receipt {
  readonly requestId?: string
  /** Kinesis: the sequence number; Firehose: the record id. */
  readonly receipt?: string
  /** Kinesis. */
  readonly shard?: string
}

/** The records of a request, if they held several events; otherwise each event was one. */
interface Packed {
  readonly records?: readonly ServiceRecord[]
}

/** The outcome of a request; indices refer to the given events. */
export type SendOutcome =
  | ({ readonly outcome: 'accepted' } & Receipt & Packed)
  | ({
      readonly outcome: 'partial'
      /** Events to be sent again, ascending. */
      readonly retry: readonly number[]
      /** Why; present if `retry` is not empty. */
      readonly reason?: Fault
      readonly rejected: readonly Rejection[]
      /** To be searched for the event at fault. If more records were refused, their events are among `retry`. */
      readonly suspects?: Suspects
    } & Receipt &
      Packed)
  /** As far as known, nothing was accepted. */
  | { readonly outcome: 'failed'; readonly fault: Fault }

/** The request was answered, but some of its events may have failed. */
export type SendAnswer = Exclude<SendOutcome, { outcome: 'failed' }>

/** The findings of a check that wrote nothing; each entry is a sentence. */
export interface Finding {
  /** Is it proved that the service would accept an event now? */
  readonly mayWrite: boolean
  readonly proved: readonly string[]
  readonly notProved: readonly string[]
}

export interface Sender {
  /** The limits as far as known now: a Kinesis stream has its own record limit. */
  limits(): BatchLimits
  /**
   * Sends all of these events, which are within the limits, in one request. Never rejects: a fault is an outcome. An
   * abort is a `transient` fault.
   */
  send(events: readonly PackedEvent[], signal: AbortSignal): Promise<SendOutcome>
  /**
   * Finds out as much as the service tells without writing anything; a fault means that events can't be delivered. Never
   * rejects. Absent if the service has no request for it. An endpoint that does not know the request may store the event.
   */
  check?(event: PackedEvent, signal: AbortSignal): Promise<Result<Finding, Fault>>
  /** Forgets fetched credentials, so that the next request fetches them again. */
  dropCredentials(): void
  close(): void
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

/** The settings of one kind. */
export interface KindSettings {
  /** Replaces the address of the service itself. */
  readonly endpointUrl?: string | undefined
  /** Where a kind that writes files may write; absolute. */
  readonly directory?: string | undefined
  /** How much it may write there for an account. */
  readonly spaceBytesMax?: number | undefined
  /** Bytes of events in one request, at most the service's own limit. */
  readonly requestBytesMax: number
}

/** Publishes messages that are no part of Weir. */
export type EventPublisher = Pick<ConfirmedPublisher, 'payloadBytesMax' | 'store' | 'tell'>

export interface SenderDeps extends Omit<KindSettings, 'requestBytesMax'> {
  readonly limits: BatchLimits
  /** From call to answer, fetching credentials included. */
  readonly requestTimeoutMs: number
  readonly aws: AwsAccess
  /** Shared by all clients of AWS in the process. */
  readonly clock: AwsClock
  readonly bodies: SharedBodies
  /** For kinds whose server the account chooses. */
  readonly networks: ReachableNetworks
  /** Publishes to Weir's own NATS; undefined where there is none. */
  readonly cluster?: EventPublisher | undefined
}

/** The member of a target that says where events go. */
export interface DestinationAddress<Field extends string = string> {
  readonly field: Field
  /** For the API's document: a regular expression that every valid address matches. */
  readonly pattern: string
  readonly example: string
  /** The problem with an address, if there is one; the sentence continues after the field's name. */
  check(address: string): Problem | undefined
}

/** The declaration of a kind. */
export interface DestinationKind<
  Name extends string = string,
  Field extends string = string,
  Auth extends 'aws' | 'none' = 'aws' | 'none',
  Target extends PackingTarget | undefined = PackingTarget | undefined,
  Options extends TargetOptions | undefined = TargetOptions | undefined,
> {
  /** The member of `target` in the API, the label `target` of metrics, and in capitals a part of settings' names. */
  readonly name: Name
  /** For the documents: "Kinesis stream". */
  readonly title: string
  /** For the documents: the service's call, and how it groups or orders events. */
  readonly about: string
  readonly address: DestinationAddress<Field>
  /** `aws`: a target of this kind has a role or a pair of keys. */
  readonly auth: Auth
  /** For kinds at AWS: what a role or a user must be allowed to do, for delivery and for checks. */
  readonly rights?: (target: Pick<DestinationConfig, 'id' | 'address' | 'options'>) => AwsRights
  /** Further members of a target. */
  readonly options?: Options
  /** The setting that replaces the service's address, if there is one. */
  readonly endpointSetting?: string
  /** The setting that names the directory of a kind that writes files; unless it is set, nothing is written. */
  readonly directorySetting?: string
  /** The setting that bounds the bytes that it keeps there for an account. */
  readonly spaceSetting?: string
  readonly limits: KindLimits
  /** Bytes of events in one request: the service's limit, and the default of `WEIR_<NAME>_REQUEST_MAX`. */
  readonly requestBytes: { readonly max: number; readonly default: number }
  /** How several events are packed into a record; a target of such a kind has the member `packing`. */
  readonly packing?: Target
  /** The units in which AWS bills records, the most usual first; none if records are not billed. */
  readonly billing?: readonly BillingUnit[]
  /** Advice about a fault, in the words of the service. Default: general sentences. */
  readonly advice?: KindAdvice
  /**
   * The texts for people who set one up: the words of its members, and its tiles in the gallery. Default: title and names.
   */
  readonly setup?: { readonly words: Words; readonly forms: readonly KindForm[] }
  /** Does the service get the line break after an event's JSON? */
  readonly keepsLineBreak: boolean
  open(config: DestinationConfig, deps: SenderDeps): Sender
}

/** Identity, so that the types of a declaration are kept. */
export const defineDestinationKind = <
  const Name extends string,
  const Field extends string,
  const Auth extends 'aws' | 'none',
  Target extends PackingTarget | undefined = undefined,
  Options extends TargetOptions | undefined = undefined,
>(
  kind: DestinationKind<Name, Field, Auth, Target, Options>,
): DestinationKind<Name, Field, Auth, Target, Options> => kind
